"""What the GitHub Action does: reads an issue, a comment or the logs of failed
jobs, has oomdoc diagnose them, and writes the answer.

The answer is one comment, which is edited when there is a better one, never a
second. Bots get none, and neither does a text without a failure. All network
code of the project is in this file; it speaks to GITHUB_API_URL alone, and to
where that sends it for the logs of jobs, without the token.
"""

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

MARKER = "<!-- oomdoc answer -->"  # how an earlier answer is found again
MOST_COMMENT = 65_000  # of the 65,536 characters that GitHub takes
MOST_LOG = 200 << 20  # bytes of a job's log
MOST_JOBS = 10
PAGES = 10  # of 100 comments
TIMEOUT = 60  # seconds for one answer of the API


class Trouble(Exception):
    """Something that the job's log has to say, in a line."""


class Stay(urllib.request.HTTPRedirectHandler):
    """Follows redirects without the token where they lead to another host."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        if new and urllib.parse.urlsplit(newurl).netloc != urllib.parse.urlsplit(req.full_url).netloc:
            new.remove_header("Authorization")
        return new


class GitHub:
    """The few calls of the API that are needed."""

    def __init__(self, base, token, repository, wait):
        self.base, self.token, self.repository, self.wait = base.rstrip("/"), token, repository, wait
        self.opener = urllib.request.build_opener(Stay)

    def call(self, method, path, body=None, most=32 << 20):
        """The bytes of an answer. Failures that may pass are tried three times."""
        request = urllib.request.Request(
            f"{self.base}/repos/{self.repository}/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + self.token, "Accept": "application/vnd.github+json", "User-Agent": "oomdoc-action"},
        )
        for attempt in range(3):
            try:
                with self.opener.open(request, timeout=TIMEOUT) as answer:
                    return answer.read(most)
            except urllib.error.HTTPError as error:
                error.close()
                # What a 5xx says nothing about may have been done: no second comment.
                passing = error.code == 429 or error.code in (500, 502, 503, 504) and method != "POST"
                if attempt == 2 or not passing:
                    raise Trouble(f"{method} {path}: {error.code} {error.reason}") from None
                after = error.headers.get("Retry-After") or ""
                self.wait(min(int(after) if after.isdigit() else 2 << attempt, 60))
            except OSError as error:  # no connection: a second try of a POST could write twice
                raise Trouble(f"{method} {path}: {error}") from None

    def json(self, method, path, body=None):
        return json.loads(self.call(method, path, body))

    def comments(self, number):
        for page in range(1, PAGES + 1):
            found = self.json("GET", f"issues/{number}/comments?per_page=100&page={page}")
            yield from found
            if len(found) < 100:
                return

    def answer(self, number, text, login):
        """Writes the one comment: the earlier one is edited, if it says
        something else. Strangers may write the marker as well."""
        for comment in self.comments(number):
            if (comment.get("body") or "").startswith(MARKER) and (comment.get("user") or {}).get("login") == login:
                if comment["body"].strip() != text.strip():
                    self.call("PATCH", f"issues/comments/{comment['id']}", {"body": text})
                    return "edited"
                return "unchanged"
        self.call("POST", f"issues/{number}/comments", {"body": text})
        return "written"


def diagnose(text, *flags):
    """What oomdoc prints about a text, None where memory did not run out."""
    done = subprocess.run([os.environ["OOMDOC_BINARY"], *flags], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "replace")
    if done.returncode == 1 or not text.strip():
        return None
    raise Trouble(done.stderr.decode("utf-8", "replace").strip().partition("\n")[0] or f"oomdoc ended with {done.returncode}")


def is_bot(user):
    return user is not None and (user.get("type") == "Bot" or (user.get("login") or "").endswith("[bot]"))


def question(name, event):
    """The number of the issue or pull request that asks, and its text. None
    where nobody asks."""
    issue = event.get("issue") or {}
    if is_bot(event.get("sender")) or issue.get("locked"):
        return None
    if name == "issues" and event.get("action") in ("opened", "edited", "reopened"):
        who, body = issue.get("user"), f"{issue.get('title') or ''}\n\n{issue.get('body') or ''}"
    elif name == "issue_comment" and event.get("action") in ("created", "edited"):
        comment = event.get("comment") or {}
        who, body = comment.get("user"), comment.get("body") or ""
    else:
        return None
    if is_bot(who) or body.lstrip().startswith(MARKER):
        return None
    return issue["number"], body.encode()


# GitHub puts a time before each line of a job's log.
STAMP = re.compile(rb"^(?:\xef\xbb\xbf)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ", re.MULTILINE)


def failed_jobs(github, run):
    """Names and logs of a run's failed jobs."""
    jobs = github.json("GET", f"actions/runs/{run}/jobs?filter=latest&per_page=100")["jobs"]
    for job in [j for j in jobs if j.get("conclusion") == "failure"][:MOST_JOBS]:
        try:
            log = github.call("GET", f"actions/jobs/{job['id']}/logs", most=MOST_LOG)
        except Trouble as trouble:  # logs expire
            warn(f"the log of a job cannot be read: {trouble}")
            continue
        yield job.get("name") or str(job["id"]), STAMP.sub(b"", log)


def comment_of(answers):
    """A comment of one answer or of several jobs' within GitHub's limit."""
    text = MARKER + "\n" + "\n\n".join(answers).strip() + "\n"
    return text if len(text) <= MOST_COMMENT else None


def title(name):
    """A job's name on a line of its own, as code: it is the repository's, and
    may be made of the names of branches."""
    return "`" + re.sub(r"[`\s]+", " ", name).strip()[:200] + "`"


class Action:
    """One run of the action."""

    def __init__(self, github, environment):
        self.github, self.env = github, environment
        self.login = environment.get("OOMDOC_LOGIN") or "github-actions[bot]"

    def run(self, name, event):
        path = self.env.get("OOMDOC_LOG")
        if path:
            return self.log(path, event)
        if name == "workflow_run":
            return self.workflow_run(event)
        return self.asked(name, event)

    def asked(self, name, event):
        asks = question(name, event)
        if asks is None:
            return say("nothing to answer here")
        number, text = asks
        # The log stands above already: the answer alone.
        answer = diagnose(text, "--format", "markdown", "--redact", "--width", "0")
        if answer is None:
            return self.nothing()
        self.found(text)
        self.comment(number, [answer])

    def workflow_run(self, event):
        run = event.get("workflow_run") or {}
        if run.get("conclusion") != "failure":
            return say("the run did not fail")
        logs = list(failed_jobs(self.github, run["id"]))
        told = [(name, log, diagnose(log, "--format", "github")) for name, log in logs]
        told = [x for x in told if x[2] is not None]
        if not told:
            return self.nothing()
        self.found(told[0][1])
        whole = [f"{title(name)}\n\n{answer}" for name, _, answer in told]
        self.summary("\n\n".join(whole))
        pulls = run.get("pull_requests") or []
        if pulls and not is_bot(event.get("sender")):
            brief = [f"{title(name)}\n\n{diagnose(log, '--format', 'markdown', '--redact', '--brief', '--width', '0')}" for name, log, _ in told]
            self.comment(pulls[0]["number"], whole, brief)

    def log(self, path, event):
        try:
            with open(path, "rb") as f:
                text = f.read(MOST_LOG)
        except OSError as error:
            raise Trouble(f"the log cannot be read: {error}") from None
        answer = diagnose(text, "--format", "github")
        if answer is None:
            return self.nothing()
        self.found(text)
        print(diagnose(text, "--format", "gha", "--redact"), end="")
        self.summary(answer)
        pull = event.get("pull_request")
        if pull and not is_bot(event.get("sender")):
            self.comment(pull["number"], [answer], [diagnose(text, "--format", "markdown", "--redact", "--width", "0")])

    def comment(self, number, answers, shorter=None):
        text = comment_of(answers) or comment_of(shorter or []) or (comment_of(shorter[:1]) if shorter else None)
        if text is None:
            raise Trouble("the answer is too long for a comment")
        say(f"the comment on #{number} is {self.github.answer(number, text, self.login)}")

    def summary(self, text):
        self.append("GITHUB_STEP_SUMMARY", text + "\n")

    def found(self, text):
        report = json.loads(diagnose(text, "--format", "json"))
        cause = report["incidents"][0]["causes"][0]["id"]
        self.append("GITHUB_OUTPUT", f"found=true\ncause={re.sub('[^a-z0-9_]', '', cause)}\n")

    def nothing(self):
        say("no out-of-memory failure")
        self.append("GITHUB_OUTPUT", "found=false\n")

    def append(self, variable, text):
        if self.env.get(variable):
            with open(self.env[variable], "a", encoding="utf-8") as f:
                f.write(text)


def say(text):
    print("oomdoc: " + text)


def warn(text):
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print("::warning title=oomdoc::" + escaped)


def main(environment, wait=time.sleep):
    try:
        with open(environment["GITHUB_EVENT_PATH"], encoding="utf-8") as f:
            event = json.load(f)
        github = GitHub(environment.get("GITHUB_API_URL") or "https://api.github.com", environment["OOMDOC_TOKEN"], environment["GITHUB_REPOSITORY"], wait)
        Action(github, environment).run(environment["GITHUB_EVENT_NAME"], event)
    except Trouble as trouble:
        warn(str(trouble))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
