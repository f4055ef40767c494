/** A process that the kernel killed because memory ran out. */
export interface OomKill {
  readonly process: string;
  readonly pid: number;
  /** The cgroup whose memory ran out; `/`: that of the whole machine. */
  readonly cgroup: string;
}

const FIRST_LINE = /invoked oom-killer:/;
const CGROUP_LINE =
  /oom-kill:constraint=.*,nodemask=.*,cpuset=.*,mems_allowed=.*,oom_memcg=(?<cgroup>.*),task_memcg=.*,task=(?<process>.*),pid=(?<pid>\d+),uid=.*/;
/** Of kernels before 5.0; the line with the process follows. */
const OLD_CGROUP_LINE = /Task in .* killed as a result of limit of (?<cgroup>.*)/;
const LAST_LINE = /Killed process (?<pid>\d+),? \((?<process>.+?)\)/;

/** Finds out-of-memory kills in the messages of the kernel, each of which takes several lines. */
export class OomParser {
  /** The cgroup of a kill whose last line is yet to come. */
  #cgroup: string | undefined;

  /** Returns the kill that the message completes. */
  next(message: string): OomKill | undefined {
    if (this.#cgroup === undefined) {
      if (FIRST_LINE.test(message)) this.#cgroup = '/';
      return undefined;
    }
    const old = OLD_CGROUP_LINE.exec(message)?.groups?.['cgroup'];
    if (old !== undefined) this.#cgroup = old.startsWith('/') ? old : `/${old}`;
    const found = (CGROUP_LINE.exec(message) ?? LAST_LINE.exec(message))?.groups;
    if (!found) return undefined;
    const { cgroup = this.#cgroup, process = '', pid = '0' } = found;
    this.#cgroup = undefined;
    return { process, pid: Number(pid), cgroup };
  }
}
