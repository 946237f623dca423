package redact

import (
	"regexp"
	"sync"
)

// innerHost are names of machines in private networks, and of tunnels, which
// whoever knows their name may enter.
const innerHost = `(?i)\b(?P<HOST>[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:internal|corp|lan|intranet|localdomain|home\.arpa|ts\.net|compute(?:-1)?\.amazonaws\.com|cloudapp\.azure\.com|cluster\.local|gradio\.live|trycloudflare\.com|ngrok(?:-free)?\.(?:io|app|dev)|proxy\.runpod\.net|loca\.lt))\b`

// podName ends in what Kubernetes appends: the hash of a replica set and five
// characters, both without vowels.
const podName = `\b(?P<POD>[a-z][a-z0-9-]{0,200}-[bcdfghjklmnpqrstvwxz2456789]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5})\b`

// personalRules in the order in which they run.
var personalRules = sync.OnceValue(func() []rule {
	re := regexp.MustCompile
	return []rule{
		{near: signs("ome", "users/", "media/"), re: re(`/(?:home\d?|homes|users|run/media)/(?P<USER>[^/\s'":,;)\]]+)`), private: person},
		{near: signs("users", "settings"), re: re(`(?:/|\\\\?)(?:Users|Documents and Settings)(?:/|\\\\?)(?P<USER>[^/\\'"<>|:*?\r\n]+)(?:/|\\)`), private: person},
		{near: signs("users", "settings"), re: re(`(?:/|\\\\?)(?:Users|Documents and Settings)(?:/|\\\\?)(?P<USER>[^/\\\s'"<>|:*?,;)\]]+)`), private: person},
		{near: signs(`\home\`), re: re(`\\home\\\\?(?P<USER>[^/\\\s'"<>|:*?,;)\]]+)`), private: person}, // \\wsl$\Ubuntu\home\jane
		{near: signs("~"), re: re(`(?:^|[\s'"=(])~(?P<USER>[a-z][\w.-]+)/`), private: person},
		{near: signs("user", "logname", "owner", "login"), re: re(`(?i)(?:\b|[a-z]_)(?:user|user_?name|user_?id|userdomain|logname|job_?owner)['"]?\s*[=:]\s*['"]?(?P<USER>[a-z_][\w.-]*)`), private: named},
		{near: signs("by user ", "for user "), re: re(`(?i)\b(?:by|for) user (?:[<'"](?P<USER1>[a-z_][\w.-]*)|(?P<USER2>[a-z_][\w.-]*)(?:\(|$| by ))`), private: named},
		{near: signs("sudo ", "su -"), re: re(`\b(?:sudo\s+(?:-\w+\s+)*-u|su\s+-l?)\s+(?P<USER>[a-z_][\w.-]*)`), private: person},
		{near: signs("rw", "r-x"), re: re(`^[-dlbcps][rwxsStT-]{9}[.+@]?\s+\d+\s+(?P<USER1>[A-Za-z_]\S*)\s+(?P<USER2>[A-Za-z_]\S*)\s+\d`), private: person}, // ls -l
		{near: signs("."), re: re(`^\s*(?P<USER>[a-z_][\w.-]*)\+?\s+\d+\s+\d+(?:\.\d)?\s+\d+\.\d\s+\d+\s+\d+\s`), private: person},                          // ps aux
		{near: signs("."), re: re(`^\s*\d+\s+(?P<USER>[a-z_][\w.-]*)\+?\s+(?:-?\d+|rt)\s+-?\d+\s+[\d.]+[kmgt]?\s+[\d.]+[kmgt]?\s`), private: person},        // top
		{near: signs("m)"), re: re(`(?:^|[\s|,])(?P<USER>[a-z_][\w.-]*)(?:[:/][\w./-]+)?\(\d+M\)`), private: person},                                        // gpustat
		{near: signs("uid=", "gid=", "groups=", "userid=", "groupid="), re: re(`\b(?:uid|gid|groups)=\d+\((?P<USER>[^)]+)\)`), private: person},
		{near: signs("userid=", "groupid="), re: re(`\b(?:UserId|GroupId)=(?P<USER>[^(\s]+)\(`), private: person},
		{near: signs("account", "#sbatch -a"), re: re(`(?:\s--account[ =]|(?:\bAccount|_ACCOUNT)=|#SBATCH -A )['"]?(?P<ACCOUNT>[A-Za-z_][\w.-]*)`), private: named},
		{near: signs("password for "), re: re(`\bpassword for (?P<USER>[\w.-]+)`), private: person},
		{near: signs("ssh ", "scp ", "sftp ", "rsync ", "mosh "), re: re(`\b(?:ssh|scp|sftp|rsync|mosh)\s[^\n@]*?(?P<USER>[\w.-]+)@(?P<HOST>[\w.-]+)`), private: account},
		{near: signs("@"), re: re(`\[(?P<USER>[\w.-]+)@(?P<HOST>[\w.-]+) [^\]\n]+\][$#%]`), private: account},
		{near: signs("@"), re: re(`(?P<USER>[A-Za-z_][\w.-]*)@(?P<HOST>[A-Za-z0-9][\w.-]*)(?::[~/]|[ :]~|\s*[$#%❯] )`), private: account},
		{near: signs("$ "), re: re(`^(?P<HOST>[A-Z][\w.-]*):\S* (?P<USER>[a-z][\w.-]*)\$ `), private: account}, // macOS
		{near: signs("@"), re: re(`(?P<USER>[A-Za-z_][\w.-]*)@(?P<HOST>[A-Za-z0-9][\w.-]*) MINGW\d\d`), private: account},
		{near: signs("@"), re: re(`(?P<EMAIL>[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)`), private: mailbox},
		{near: signs("+"), re: re(`(?P<PHONE>\+\d{1,3}[ -]?(?:\(\d{1,5}\)[ -]?)?\d{1,5}(?:[ -/]\d{2,8}){1,5})`), private: phone},
		{near: signs("+"), re: re(`(?P<PHONE>\+\d{10,14})`), private: phone},
		{near: signs(")"), re: re(`(?P<PHONE>\(\d{3}\) ?\d{3}[ -]\d{4})`), private: phone},
		{near: threeThenFour('.'), re: re(`(?P<PHONE>\d{3}\.\d{3}\.\d{4})`), private: phone},
		{near: threeThenFour('-'), re: re(`(?P<PHONE>\d{3}-\d{3}-\d{4})`), private: phone},
		{near: signs("tel", "phone", "mobile", "fax"), re: re(`(?i)\b(?:tel|phone|telephone|mobile|fax)\b[.:=' "]{1,3}(?P<PHONE>[+(]?\d[\d ()/-]{5,18}\d)`), private: phone},

		{near: signs("name", "nodelist", "batchhost", "exec_host"), re: re(`(?i)(?:\bhost_?name|\bnode_?name|\bcomputer_?name|_nodename|_node_?list|\bnode_?list|\bbatchhost|\bexec_host|\bmachine_?name)\\?['"]?\s*[:=]\s*\\?['"]?(?P<HOST>[a-z0-9][\w.\[\],-]*)`), private: host},
		{near: signs("host"), re: re(`\bhosts?=['"]?(?P<HOST>[A-Za-z][\w.-]*)`), private: host},
		{near: signs("master_addr", "endpoint", "connect to ["), re: re(`(?i)(?:(?:--master_addr\s|--rdzv[-_]endpoint\s|(?:master_addr(?:ess)?|rdzv[-_]endpoint)['"]?\s*[=:])\s*['"]?|connect to \[)(?P<HOST>[a-z][\w.-]*)`), private: host},
		{near: signs("://"), re: re(`\b(?:https?|tcp|grpc|wss?|redis|nats|amqp|mysql|postgres(?:ql)?|s3|nfs|smb|ftp|file)://(?:LOGIN\d*@)?(?P<HOST>[A-Za-z][A-Za-z0-9.-]*[A-Za-z0-9])(?:[:/\s'"]|$)`), private: machine},
		{near: signs(".edu", ".gov", ".mil", ".ac.", ".com", ".org", ".net", ".io", ".cloud"), re: re(`\b(?P<HOST>[a-z][a-z0-9-]*\d[a-z0-9-]*(?:\.[a-z0-9-]+)+\.(?:edu|gov|mil|ac\.[a-z]{2}|com|org|net|io|cloud))\b`), private: machine},
		{near: signs(":/"), re: re(`(?:^|\s)(?P<HOST>[a-z][\w.-]*):/(?:export|home|nfs|mnt|data|vol|scratch)\b`), private: host},
		{near: signs("#sbatch -w", "--nodelist"), re: re(`(?:#SBATCH -w |--nodelist[ =])(?P<HOST>[a-z][\w.,\[\]-]*)`), private: host},
		{near: signs("execution host", "exec host", "submit host", "head node", "master node"), re: re(`(?i)\b(?:execution host|exec host|submit host|head node|master node)\s*[:=]\s*(?P<HOST>[a-z][\w.-]*)`), private: host},
		{near: signs("host "), re: re(`\b[Hh]ost (?P<HOST>[a-z][\w.-]*) (?:is|was|has|did|failed|died|went|not)\b`), private: distinctHost},
		{near: signs(" login"), re: re(`^(?P<HOST>[a-z][\w.-]*) login:(?: (?P<USER>[a-z][\w.-]*))?\s*$`), private: host},
		{near: signs("logged in as"), re: re(`(?i)\blogged in as:? (?:user )?(?P<USER1>[a-z][\w.-]*)(?: \((?P<USER2>[\w.-]+)\))?`), private: named},
		{near: signs("wandb.ai/"), re: re(`\bwandb\.ai/(?P<USER>[\w.-]+)/`), private: person},
		{near: signs("author: ", "committer: ", "signed-off-by: "), re: re(`\b(?:Author|Committer|Signed-off-by|Co-authored-by): (?P<USER>[^<\n]+?) <`)},
		{near: signs("successfully assigned "), re: re(`\bSuccessfully assigned (?P<NAMESPACE>[a-z0-9-]+)/(?P<POD>\S+) to (?P<HOST>\S+)`)},
		{near: signs("node/"), re: re(`(?:^|\s)node/(?P<HOST>[a-z0-9][a-z0-9.-]*)`), private: host},
		{near: signs("gke-", "aks-"), re: re(`\b(?P<HOST>gke-[a-z0-9-]+-[0-9a-f]{8}-[a-z0-9]{4}|aks-[a-z0-9]+-\d+-vmss\w+)\b`)},
		{near: signs("node", "gpu", "dgx", "hgx", "nas", "login"), re: re(`(?:^|[\s'"([,])(?P<HOST>(?:[a-z]+-)*(?:node|gpu|dgx|hgx|nas|login)-?(?:0\d+|\d{3,})|(?:[a-z]+-)+(?:node|gpu|dgx|hgx)-\d+)(?:$|[\s'":;,.)\]])`)},
		{near: signs("node"), re: re(`\bnodes?=['"]?(?P<HOST>[A-Za-z][\w.-]*)`), private: distinctHost},
		{near: signs("node ", "host ", "hosts ", "host(s) ", "machine "), re: re(`(?i)\b(?:on|from|of|at|to) (?:submit |execution |compute |login )?(?:node|host|hosts|machine|host\(s\))\s+[<'"]?(?P<HOST>[a-z][\w.-]*)`), private: distinctHost},
		{near: signs("host", "machine"), re: re(`(?i)\bhosts?(?:\(s\))? <(?P<HOST>[a-z0-9][\w.-]*)>`), private: host},
		{near: signs("host"), re: re(`^\s*host\s+: (?P<HOST>[A-Za-z][\w.-]*)$`), private: host}, // torchrun's summary
		{near: signs("srun", "slurmstepd", "slurmd"), re: re(`\b(?:srun: error: (?P<HOST1>[A-Za-z][\w.-]*): tasks? |(?:slurmstepd|slurmd)-(?P<HOST2>[A-Za-z][\w.-]*): )`), private: host},
		{near: signs("nccl"), re: re(`^(?P<HOST>[A-Za-z][\w.-]*):\d+:\d+ \[\d+\] NCCL`), private: host},
		{near: signs("["), re: re(`^\[(?P<HOST>[A-Za-z][\w.-]*):\d{2,7}\] (?:\*\*\*|\[|PMIX|mca|Signal|Process|\d+ more)`), private: host}, // Open MPI
		{near: signs(": "), re: re(`^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:?\d\d)) (?P<HOST>[A-Za-z0-9][\w.-]*) [\w@.\\/-]+(?:\[\d+\])?: `), private: host},
		{near: signs("node:"), re: re(`^\s*Node:\s+(?P<HOST>[A-Za-z0-9][\w.-]*)/`)},
		{near: signs("node:"), re: re(`^\s*Node:\s+(?P<HOST>[A-Za-z][\w.-]*)\s*$`), private: host},
		{near: signs("cancelled"), re: re(`\bON (?P<HOST>[A-Za-z][\w.-]*) CANCELLED`)},
		{near: signs("pod"), re: re(`\b(?:pod|Pod)=\\?"?(?P<NAMESPACE>[a-z0-9][a-z0-9-]*)/(?P<POD>[a-z0-9][a-z0-9.-]*)`)},
		{near: signs("pod"), re: re(`(?i)\bpod(?:_?name|s)?['"]?(?:/|=|\s*:\s+|\s+")['"]?(?P<POD>[a-z0-9][a-z0-9-]*-[a-z0-9.-]*[a-z0-9])`), private: named},
		{near: signs("pod "), re: re(`\bpod (?P<POD>[a-z][a-z0-9-]*-(?:\d+|[a-z0-9]{5}))\b`)},
		{near: signs("in namespace "), re: re(`\bin namespace ['"]?(?P<NAMESPACE>[a-z0-9][a-z0-9-]*)`), private: namespace},
		{near: signs("kubelet"), re: re(`\bkubelet[, ]\s*(?P<HOST>[a-z][a-z0-9.-]*)`), private: distinctHost},
		{near: signs("submitted by "), re: re(`(?i)\bsubmitted by (?P<USER>[a-z_][\w.-]*)`), private: named},
		{near: signs("//"), re: re(`(?:^|[\s'"])//(?P<HOST>[a-z][\w-]*)/\w`), private: distinctHost},
		{near: signs("kubectl ", "oc "), re: re(`\b(?:kubectl|oc)\s+(?:logs|exec|attach|debug|cp|port-forward|(?:describe|get|delete|top)\s+(?:pods?|po))(?:\s+(?:-[nclf]|--\w+)[ =]\S+|\s+-\S+)*\s+(?P<POD>[a-z0-9][a-z0-9.-]*-[a-z0-9.-]*[a-z0-9])`)},
		{near: signs("/"), re: re(`^(?:(?P<NAMESPACE>[a-z0-9][a-z0-9-]*)\s+)?(?P<POD>[a-z0-9][a-z0-9.]*-[a-z0-9.-]*[a-z0-9])\s+\d+/\d+\s+[A-Z][A-Za-z:]+\s+\d+`)}, // kubectl get pods
		{near: signs("name:"), re: re(`^Name:\s+(?P<POD>[a-z0-9][a-z0-9.]*-[a-z0-9.-]*[a-z0-9])\s*$`)},                                                            // kubectl describe pod
		{near: podSuffix, re: re(podName), private: podLike},
		{near: signs("namespace"), re: re(`(?i)\bnamespace['"]?\s*[:=/]\s*['"]?(?P<NAMESPACE>[a-z0-9][a-z0-9-]*)\b`), private: namespace},
		{near: signs("kubectl ", "helm ", "k9s ", "oc "), re: re(`\b(?:kubectl|helm|oc|k9s)\b.*\s(?:-n|--namespace)[ =](?P<NAMESPACE>[a-z0-9][a-z0-9-]*)\b`), private: namespace},
		{near: signs("desktop-", "laptop-", "win-"), re: re(`\b(?P<HOST>(?:DESKTOP|LAPTOP|WIN)-[A-Z0-9]{7,})(?:\\(?P<USER>[\w.-]+))?`)},
		{near: signs(`\\`), re: re(`(?:^|[\s"'=(])\\\\(?P<HOST>[A-Za-z0-9][\w.-]*)\\[^\\\s]`), private: share},         // \\server\share
		{near: signs(`\\\\`), re: re(`(?:^|[\s"'=(])\\\\\\\\(?P<HOST>[A-Za-z0-9][\w.-]*)\\\\[^\\\s]`), private: share}, // as JSON and repr write it
		{near: signs(".internal", ".corp", ".lan", ".intranet", ".localdomain", ".home.arpa", ".ts.net", ".amazonaws.com", ".cloudapp.", ".cluster.local", ".gradio.live", ".trycloudflare", ".ngrok", ".runpod", ".loca.lt"), re: re(innerHost)},
		{near: signs(".local"), re: re(`(?P<HOST>[A-Za-z0-9][A-Za-z0-9.-]*\.local)\b`), private: localHost},
		{near: signs("ip-"), re: re(`\b(?P<HOST>ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3})\b`)},
		{near: quad, re: re(`(?P<IP>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})`), private: address},
		{near: pairs, re: re(`(?P<MAC>[0-9A-Fa-f]{2}(?:(?::[0-9A-Fa-f]{2}){5}|(?:-[0-9A-Fa-f]{2}){5}))`), private: hardware},
		{near: globalAddress, re: re(`(?P<IP>[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})`), private: address6},
	}
})
