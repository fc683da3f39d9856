"""The system calls that the filters in ``seccomp.py`` allow: those of ordinary programs, with their numbers.

Each word is name:x86-64:aarch64, "-" where the architecture lacks the call (numbers from Linux's unistd tables, as of
Linux 6.1). The groups were chosen with strace: Python, torch, NumPy, matplotlib, SymPy, IPython and its kernel, shells
and the small programs that notebooks start make 131 different calls. All but two of them are listed (mbind and
set_mempolicy are called, but not needed). The remaining entries belong to the same families (``openat``,
``open``), so that another C library or processor finds its variant.
"""

from __future__ import annotations

Table = dict[str, tuple[int | None, int | None]]


def _table(words: str) -> Table:
    rows = (word.split(":") for word in words.split())
    return {name: (int(x86), None if arm == "-" else int(arm)) for name, x86, arm in rows}


FILES_READ = _table(  # read files, and use open descriptors
    """
    read:0:63 pread64:17:67 readv:19:65 preadv:295:69 preadv2:327:286 write:1:64 pwrite64:18:68 writev:20:66
    pwritev:296:70 pwritev2:328:287 lseek:8:62 close:3:57 close_range:436:436 stat:4:- fstat:5:80 lstat:6:-
    newfstatat:262:79 statx:332:291 access:21:- faccessat:269:48 faccessat2:439:439 readlink:89:-
    readlinkat:267:78 getdents:78:- getdents64:217:61 getcwd:79:17 statfs:137:43 fstatfs:138:44 getxattr:191:8
    lgetxattr:192:9 fgetxattr:193:10 listxattr:194:11 llistxattr:195:12 flistxattr:196:13 dup:32:23 dup2:33:-
    dup3:292:24 flock:73:32 fsync:74:82 fdatasync:75:83 fadvise64:221:223 readahead:187:213 sendfile:40:71
    copy_file_range:326:285
    """
)
FILES_OPEN = _table(  # the filter checks the flags: see seccomp.py
    """
    open:2:- openat:257:56
    """
)
FILES_CHANGE = _table(  # write to the private home
    """
    creat:85:- truncate:76:45 ftruncate:77:46 fallocate:285:47 sync_file_range:277:84 rename:82:-
    renameat:264:38 renameat2:316:276 mkdir:83:- mkdirat:258:34 rmdir:84:- link:86:- linkat:265:37 unlink:87:-
    unlinkat:263:35 symlink:88:- symlinkat:266:36 mknod:133:- mknodat:259:33 chmod:90:- fchmod:91:52
    fchmodat:268:53 fchmodat2:452:452 chown:92:- fchown:93:55 lchown:94:- fchownat:260:54 umask:95:166
    utime:132:- utimes:235:- futimesat:261:- utimensat:280:88 chdir:80:49 fchdir:81:50
    """
)
WAITING = _table(  # wait for descriptors
    """
    poll:7:- ppoll:271:73 select:23:- pselect6:270:72 epoll_create:213:- epoll_create1:291:20 epoll_ctl:233:21
    epoll_wait:232:- epoll_pwait:281:22 epoll_pwait2:441:441 eventfd:284:- eventfd2:290:19 timerfd_create:283:85
    timerfd_settime:286:86 timerfd_gettime:287:87 signalfd:282:- signalfd4:289:74 pipe:22:- pipe2:293:59
    """
)
MEMORY = _table(  # memory: bounded by RLIMIT_AS
    """
    mmap:9:222 munmap:11:215 mprotect:10:226 mremap:25:216 brk:12:214 madvise:28:233 msync:26:227 mincore:27:232
    get_mempolicy:239:236 membarrier:324:283
    """
)
THREADS = _table(  # threads of one process
    """
    futex:202:98 set_tid_address:218:96 set_robust_list:273:99 get_robust_list:274:100 rseq:334:293
    sched_yield:24:124 sched_getaffinity:204:123 sched_getparam:143:121 sched_getscheduler:145:120
    sched_getattr:315:275 sched_get_priority_max:146:125 sched_get_priority_min:147:126
    sched_rr_get_interval:148:127 getcpu:309:168 gettid:186:178 getpriority:140:141 arch_prctl:158:-
    restart_syscall:219:128 exit:60:93 exit_group:231:94
    """
)
SIGNALS = _table(  # signals
    """
    rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139 rt_sigpending:127:136 rt_sigtimedwait:128:137
    rt_sigsuspend:130:133 sigaltstack:131:132 pause:34:-
    """
)
TIME = _table(  # clocks and timers
    """
    gettimeofday:96:169 time:201:- clock_gettime:228:113 clock_getres:229:114 clock_nanosleep:230:115
    nanosleep:35:101 alarm:37:- getitimer:36:102 setitimer:38:103 timer_create:222:107 timer_settime:223:110
    timer_gettime:224:108 timer_getoverrun:225:109 timer_delete:226:111 times:100:153
    """
)
IDENTITY = _table(  # ids and properties of the process and the system
    """
    getpid:39:172 getppid:110:173 getuid:102:174 geteuid:107:175 getgid:104:176 getegid:108:177
    getresuid:118:148 getresgid:120:150 getgroups:115:158 getpgrp:111:- getpgid:121:155 getsid:124:156
    capget:125:90 uname:63:160 sysinfo:99:179 getrusage:98:165 getrlimit:97:163 getrandom:318:278
    """
)
PROCESSES = _table(  # start and end processes; all of them stay in the sandbox
    """
    fork:57:- vfork:58:- execve:59:221 wait4:61:260 waitid:247:95 setpgid:109:154 setsid:112:157
    pidfd_open:434:434 pidfd_send_signal:424:424 kill:62:129 tkill:200:130 tgkill:234:131
    rt_sigqueueinfo:129:138 rt_tgsigqueueinfo:297:240 prlimit64:302:261 setrlimit:160:164
    sched_setaffinity:203:122 sched_setparam:142:118 sched_setscheduler:144:119 sched_setattr:314:274
    setpriority:141:140
    """
)
USERS = _table(  # setpriv and shells call these; without capabilities they change nothing
    """
    setuid:105:146 setgid:106:144 setreuid:113:145 setregid:114:143 setresuid:117:147 setresgid:119:149
    setfsuid:122:151 setfsgid:123:152 setgroups:116:159 capset:126:91
    """
)
SOCKETS = _table(  # sockets: they reach only the sandbox itself
    """
    connect:42:203 bind:49:200 listen:50:201 accept:43:202 accept4:288:242
    """
)
SOCKETS_OPEN = _table(  # connected sockets
    """
    sendto:44:206 recvfrom:45:207 sendmsg:46:211 recvmsg:47:212 sendmmsg:307:269 recvmmsg:299:243
    shutdown:48:210 setsockopt:54:208 getsockopt:55:209 getsockname:51:204 getpeername:52:205
    """
)
ARGUMENTS = _table(  # calls that the filter decides by their arguments, or refuses with a special error
    """
    clone:56:220 clone3:435:435 socket:41:198 socketpair:53:199 ioctl:16:29 fcntl:72:25 prctl:157:167
    personality:135:92 setxattr:188:5 lsetxattr:189:6 fsetxattr:190:7
    """
)

SECCOMP = (317, 277)

STUDENT = (
    FILES_READ,
    FILES_OPEN,
    FILES_CHANGE,
    WAITING,
    MEMORY,
    THREADS,
    SIGNALS,
    TIME,
    IDENTITY,
    PROCESSES,
    USERS,
    SOCKETS,
    SOCKETS_OPEN,
    ARGUMENTS,
)
# For a process that only computes; seccomp.py has further rules for some of the other calls.
SEALED = (FILES_READ, WAITING, MEMORY, THREADS, SIGNALS, TIME, IDENTITY, SOCKETS_OPEN)
ALL: Table = {name: numbers for group in STUDENT for name, numbers in group.items()}
