print("plain")
