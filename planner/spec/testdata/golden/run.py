import shared
