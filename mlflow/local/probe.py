# Prints which MLflow this Python has, which database schema it wants and which one the database has, without importing MLflow.
import glob, importlib.metadata, importlib.util, json, os, re, sqlite3, sys

answer = {"version": "", "heads": [], "found": None, "problem": ""}
try:
    answer["version"] = importlib.metadata.version("mlflow")
    folder = importlib.util.find_spec("mlflow").submodule_search_locations[0]
except (importlib.metadata.PackageNotFoundError, AttributeError):
    sys.exit("this Python has no mlflow package")

known, replaced = set(), set()
for name in glob.glob(os.path.join(folder, "store", "db_migrations", "versions", "*.py")):
    with open(name, encoding="utf-8") as f:
        text = f.read()
    known.update(re.findall(r'^revision\s*=\s*["\'](\w+)["\']', text, re.M))
    down = re.search(r"^down_revision\s*=\s*(.*)$", text, re.M)
    replaced.update(re.findall(r'["\'](\w+)["\']', down.group(1)) if down else [])
answer["heads"] = sorted(known - replaced)

database = sys.argv[1]
if os.path.exists(database) and os.path.getsize(database) > 0:
    try:
        # What a server left that was killed in the middle of a write is rolled back, as any server would: who only reads is refused.
        mode = "rw" if os.path.exists(database + "-journal") else "ro"
        db = sqlite3.connect("file:" + database.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?mode=" + mode, uri=True)
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "alembic_version" in tables:
            answer["found"] = sorted(row[0] for row in db.execute("SELECT version_num FROM alembic_version"))
        elif tables:
            answer["problem"] = "is a database, but not one of MLflow's"
    except sqlite3.Error as e:
        answer["problem"] = "is no SQLite database that can be read: %s" % e
print(json.dumps(answer))
