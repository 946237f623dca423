"""python3 -m unittest discover -s action, with OOMDOC_BINARY naming a binary.

Each event in testdata/events is given to the action as GitHub's runner gives it,
with a stand-in for the API on loopback that keeps what is written."""

import glob
import http.server
import io
import json
import os
import re
import tempfile
import threading
import unittest
from contextlib import redirect_stdout

import answer

HERE = os.path.dirname(os.path.abspath(__file__))
BOT = {"login": "github-actions[bot]", "type": "Bot"}
JANE = {"login": "jane", "type": "User"}
OOM_LOG = (
    "\ufeff2026-11-22T10:00:00.0000000Z ##[group]Run pytest\n"
    "2026-11-22T10:00:01.0000000Z HF_TOKEN=hf_0123456789abcdefghij pytest tests\n"
    "2026-11-22T10:00:02.0000000Z E   torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)\n"
    "2026-11-22T10:00:03.0000000Z ##[error]Process completed with exit code 1.\n"
)


class API(http.server.BaseHTTPRequestHandler):
    """The calls that the action makes, and what GitHub answers."""

    protocol_version = "HTTP/1.1"

    def handle_one(self):
        s = self.server
        path = self.path
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        s.seen.append((self.command, path, self.headers.get("Authorization")))
        if s.failures:
            code = s.failures.pop(0)
            return self.reply(code, {}, [("Retry-After", "1")])
        if path.startswith("/blob/"):
            return self.reply(200, s.logs[int(path.rsplit("/", 1)[1])].encode())
        if self.headers.get("Authorization") != "Bearer secret":
            return self.reply(401, {})
        path = path.removeprefix("/repos/octo/models/")
        if m := re.fullmatch(r"issues/(\d+)/comments\?per_page=100&page=(\d+)", path):
            page = int(m[2])
            return self.reply(200, s.comments.get(int(m[1]), [])[100 * (page - 1) : 100 * page])
        if m := re.fullmatch(r"issues/(\d+)/comments", path):
            comment = {"id": 900 + len(s.seen), "user": BOT, "body": body["body"]}
            s.comments.setdefault(int(m[1]), []).append(comment)
            return self.reply(201, comment)
        if m := re.fullmatch(r"issues/comments/(\d+)", path):
            for comment in sum(s.comments.values(), []):
                if comment["id"] == int(m[1]):
                    comment["body"] = body["body"]
                    return self.reply(200, comment)
        if path == "actions/runs/777/jobs?filter=latest&per_page=100":
            return self.reply(200, {"total_count": len(s.jobs), "jobs": s.jobs})
        if m := re.fullmatch(r"actions/jobs/(\d+)/logs", path):
            if int(m[1]) not in s.logs:
                return self.reply(410, {"message": "Gone"})
            return self.reply(302, b"", [("Location", f"http://localhost:{s.server_port}/blob/{m[1]}")])
        self.reply(404, {"message": "Not Found"})

    do_GET = do_POST = do_PATCH = handle_one

    def reply(self, code, body, headers=()):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_):
        pass


class Case(unittest.TestCase):
    def setUp(self):
        self.api = http.server.ThreadingHTTPServer(("127.0.0.1", 0), API)
        self.api.comments, self.api.jobs, self.api.logs, self.api.seen, self.api.failures = {}, [], {}, [], []
        thread = threading.Thread(target=self.api.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.api.server_close)
        self.addCleanup(self.api.shutdown)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.waits = []

    def act(self, name, **env):
        """Runs the action on a recorded event."""
        with open(os.path.join(HERE, "testdata", "events", name + ".json"), encoding="utf-8") as f:
            recorded = json.load(f)
        path = os.path.join(self.folder, "event.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(recorded["payload"], f)
        environment = {
            "GITHUB_EVENT_NAME": recorded["event"],
            "GITHUB_EVENT_PATH": path,
            "GITHUB_API_URL": f"http://127.0.0.1:{self.api.server_port}",
            "GITHUB_REPOSITORY": "octo/models",
            "GITHUB_STEP_SUMMARY": os.path.join(self.folder, "summary"),
            "GITHUB_OUTPUT": os.path.join(self.folder, "output"),
            "OOMDOC_TOKEN": "secret",
            **env,
        }
        out = io.StringIO()
        with redirect_stdout(out):
            self.code = answer.main(environment, self.waits.append)
        self.printed = out.getvalue()

    def written(self):
        """Bodies of all comments of the bot."""
        return [c["body"] for list_ in self.api.comments.values() for c in list_ if c["user"] == BOT]

    def read(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as f:
            return f.read()

    def calls(self, *methods):
        return [c[:2] for c in self.api.seen if c[0] in methods]


class Events(Case):
    # What each event comes to: how many comments there are then.
    EXPECTED = {
        "issue-opened": 1,
        "issue-opened-by-form": 1,
        "issue-opened-without-failure": 0,
        "issue-opened-by-bot": 0,
        "issue-opened-empty": 0,
        "issue-opened-log-in-title": 1,
        "issue-opened-look-alike": 0,
        "issue-opened-hostile": 1,
        "issue-opened-locked": 0,
        "issue-edited": 1,
        "issue-edited-by-bot": 0,
        "issue-edited-log-removed": 0,
        "issue-of-bot-edited": 0,
        "issue-opened-with-command": 1,
        "issue-closed": 0,
        "issue-labeled": 0,
        "comment-created": 1,
        "comment-created-without-failure": 0,
        "comment-created-by-bot": 0,
        "comment-created-with-answer-quoted": 0,
        "comment-on-pull-request": 1,
        "comment-deleted": 0,
        "run-failed-on-pull-request": 1,
        "run-failed-on-branch": 0,
        "run-failed-of-bot": 0,
        "run-failed-otherwise": 0,
        "run-succeeded": 0,
        "push": 0,
        "pull-request": 0,
    }

    def test_every_event_is_expected(self):
        files = {os.path.splitext(os.path.basename(p))[0] for p in glob.glob(os.path.join(HERE, "testdata", "events", "*.json"))}
        self.assertEqual(files, set(self.EXPECTED))
        self.assertGreaterEqual(len(files), 20)

    def jobs(self, name):
        self.api.jobs = [{"id": 1, "name": "lint", "conclusion": "success"}, {"id": 2, "name": "gpu (3.11)", "conclusion": "failure"}]
        self.api.logs = {2: "E   assert 1 == 2\n" if name == "run-failed-otherwise" else OOM_LOG}

    def test_events(self):
        """Each twice: the second time nothing is written."""
        for name, count in self.EXPECTED.items():
            with self.subTest(name):
                self.api.comments, self.api.seen = {}, []
                self.jobs(name)
                self.act(name)
                self.assertEqual(0, self.code, self.printed)
                self.assertEqual(count, len(self.written()))
                self.api.seen = []
                self.act(name)
                self.assertEqual(count, len(self.written()))
                self.assertEqual([], self.calls("POST", "PATCH"))
                for body in self.written():
                    self.assertTrue(body.startswith(answer.MARKER + "\n"))
                    self.assertNotIn("hf_0", body)
                    self.assertNotIn("jane", body)
                    self.assertNotIn("sk-0", body)


class Comments(Case):
    def test_answer_is_edited(self):
        self.act("issue-opened")
        first = self.written()
        self.act("issue-edited")
        self.assertEqual(1, len(self.written()))
        self.assertNotEqual(first, self.written())
        self.assertIn("4.00 GiB", self.written()[0])
        self.assertEqual(1, len(self.calls("PATCH")))

    def test_answer_on_a_later_page_is_edited(self):
        self.api.comments[12] = [{"id": n, "user": JANE, "body": "+1"} for n in range(130)] + [{"id": 200, "user": BOT, "body": answer.MARKER + "\nold"}]
        self.act("issue-opened")
        self.assertEqual([("PATCH", "/repos/octo/models/issues/comments/200")], self.calls("POST", "PATCH"))

    def test_marker_of_a_stranger(self):
        self.api.comments[12] = [{"id": 3, "user": JANE, "body": answer.MARKER + "\nforged"}]
        self.act("issue-opened")
        self.assertEqual([("POST", "/repos/octo/models/issues/12/comments")], self.calls("POST", "PATCH"))
        self.assertIn("forged", self.api.comments[12][0]["body"])

    def test_answer_stays_when_the_log_goes(self):
        self.act("issue-opened")
        self.api.seen = []
        self.act("issue-edited-log-removed")
        self.assertEqual([], self.api.seen)

    def test_other_login(self):
        self.api.comments[12] = [{"id": 3, "user": JANE, "body": answer.MARKER + "\nold"}]
        self.act("issue-opened", OOMDOC_LOGIN="jane")
        self.assertEqual([("PATCH", "/repos/octo/models/issues/comments/3")], self.calls("POST", "PATCH"))

    def test_hostile_issue(self):
        self.act("issue-opened-hostile")
        body = self.written()[0]
        bare = re.sub(r"(?s)```.*?```|`[^`\n]*`", "", body.removeprefix(answer.MARKER))
        self.assertNotRegex(bare, r"@\w|<\w|<!--|\]\(|#\d")

    def test_found_is_told(self):
        self.act("issue-opened")
        self.assertRegex(self.read("output"), r"\Afound=true\ncause=[a-z_]+\n\Z")
        self.act("issue-opened-without-failure")
        self.assertTrue(self.read("output").endswith("found=false\n"))


class Runs(Case):
    def setUp(self):
        super().setUp()
        self.api.jobs = [{"id": 2, "name": "gpu `x`\n# (3.11)", "conclusion": "failure"}]
        self.api.logs = {2: OOM_LOG}

    def test_summary_and_comment(self):
        self.act("run-failed-on-pull-request")
        self.assertIn("2.00 GiB did not fit", self.read("summary"))
        self.assertIn("`gpu x # (3.11)`\n\n# ", self.read("summary"))
        self.assertIn("<summary>The log, redacted (4 lines)</summary>", self.written()[0])
        self.assertRegex(self.written()[0], r"HF_TOKEN=[A-Z0-9]+ pytest tests")
        self.assertNotIn("2026-11-22T10", self.written()[0])

    def test_branch_has_the_summary_alone(self):
        self.act("run-failed-on-branch")
        self.assertIn("2.00 GiB did not fit", self.read("summary"))
        self.assertEqual([], self.calls("POST", "PATCH"))

    def test_token_stays_with_the_api(self):
        self.act("run-failed-on-branch")
        blobs = [c for c in self.api.seen if c[1].startswith("/blob/")]
        self.assertEqual([None], [c[2] for c in blobs])

    def test_expired_log(self):
        self.api.jobs.insert(0, {"id": 1, "name": "old", "conclusion": "failure"})
        self.act("run-failed-on-pull-request")
        self.assertEqual(0, self.code)
        self.assertIn("::warning title=oomdoc::the log of a job cannot be read", self.printed)
        self.assertEqual(1, len(self.written()))

    def test_many_long_logs_stay_within_a_comment(self):
        self.api.jobs = [{"id": n, "name": f"gpu {n}", "conclusion": "failure"} for n in range(4)]
        self.api.logs = {n: OOM_LOG + "2026-11-22T10:00:04.0000000Z step done\n" * 5000 for n in range(4)}
        self.act("run-failed-on-pull-request")
        self.assertEqual(0, self.code, self.printed)
        self.assertLess(len(self.written()[0]), 65_536)
        self.assertEqual(4, self.written()[0].count("did not fit beside"))


class Logs(Case):
    def log(self, text):
        path = os.path.join(self.folder, "job.log")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def test_log_of_this_job(self):
        self.act("pull-request", OOMDOC_LOG=self.log(OOM_LOG))
        self.assertRegex(self.printed, r"(?m)^::error title=oomdoc%3A PyTorch ran out of memory")
        self.assertIn("2.00 GiB did not fit", self.read("summary"))
        self.assertEqual(1, len(self.written()))

    def test_log_without_failure(self):
        self.act("pull-request", OOMDOC_LOG=self.log("all is well\n"))
        self.assertNotIn("::error", self.printed)
        self.assertEqual([], self.written())

    def test_push_has_no_comment(self):
        self.act("push", OOMDOC_LOG=self.log(OOM_LOG))
        self.assertEqual([], self.api.seen)
        self.assertIn("did not fit", self.read("summary"))

    def test_missing_log(self):
        self.act("push", OOMDOC_LOG="/nowhere.log")
        self.assertEqual(1, self.code)
        self.assertIn("::warning title=oomdoc::the log cannot be read", self.printed)


class Failures(Case):
    def test_passing_failures_are_tried_again(self):
        self.api.failures = [502, 429]
        self.act("issue-opened")
        self.assertEqual(0, self.code)
        self.assertEqual(1, len(self.written()))
        self.assertEqual([1, 1], self.waits)

    def test_comment_is_not_posted_twice(self):
        self.api.comments[12] = []
        real = API.reply

        def broken(handler, code, body, headers=()):
            real(handler, 502 if handler.command == "POST" else code, body, headers)

        API.reply = broken
        self.addCleanup(setattr, API, "reply", real)
        self.act("issue-opened")
        self.assertEqual(1, self.code)
        self.assertEqual(1, len(self.calls("POST")))

    def test_refused(self):
        self.act("issue-opened", OOMDOC_TOKEN="other")
        self.assertEqual(1, self.code)
        self.assertRegex(self.printed, r"::warning title=oomdoc::GET issues/12/comments.*: 401")

    def test_no_connection(self):
        self.act("issue-opened", GITHUB_API_URL="http://127.0.0.1:1")
        self.assertEqual(1, self.code)


class Definition(unittest.TestCase):
    """The files that GitHub reads, where a reader of YAML is here."""

    def setUp(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no yaml here")
        self.yaml = yaml

    def load(self, *path):
        with open(os.path.join(HERE, "..", *path), encoding="utf-8") as f:
            return self.yaml.safe_load(f)

    def test_action(self):
        action = self.load("action.yml")
        text = json.dumps(action["runs"])
        self.assertEqual("composite", action["runs"]["using"])
        for name in action["inputs"]:
            self.assertIn("inputs." + name, text)
        for step in action["runs"]["steps"]:
            self.assertNotIn("${{", step["run"], "nothing of an event may get into a shell's line")

    def test_workflow(self):
        workflow = self.load(".github", "workflows", "oomdoc.yml")
        self.assertIn("workflow_call", workflow[True])  # YAML 1.1 reads "on" so
        self.assertEqual({"actions": "read", "contents": "read", "issues": "write", "pull-requests": "write"}, workflow["permissions"])
        self.assertNotIn("run", json.dumps(list(workflow["jobs"]["answer"]["steps"][0])))


if __name__ == "__main__":
    unittest.main()
