import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The programs for NAT that a machine has. */
export type NatPrograms = 'iptables-nft' | 'iptables-legacy' | 'nft' | 'none';

export const MACHINE_ADDRESS = '198.51.100.1';
export const OUTSIDE_ADDRESS = '198.51.100.2';

/**
 * Replaces /usr/sbin by an overlay, so that programs can be hidden, and /sys by that of the new network namespace. Keeps copies
 * of the programs.
 */
const SET_UP = `
mount -t tmpfs tmpfs "$1" && cd "$1" && mkdir cgroup upper work programs
cp /usr/sbin/nft /usr/sbin/xtables-nft-multi /usr/sbin/xtables-legacy-multi programs
mount --rbind /sys/fs/cgroup cgroup
mount -t sysfs sysfs /sys
mount --rbind cgroup /sys/fs/cgroup
mount -t overlay overlay -o "lowerdir=/usr/sbin,upperdir=$1/upper,workdir=$1/work" /usr/sbin
ip link set lo up
echo ready
exec sleep infinity
`;

/** `$2` is a program of NatPrograms. */
const USE = `
rm -f /usr/sbin/nft /usr/sbin/ip*tables* /usr/sbin/xtables-*
multi() {
  for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
    ln -s "$1" "/usr/sbin/$name"
  done
}
cd "$1/programs"
case $2 in
  iptables-nft) multi "$1/programs/xtables-nft-multi" ;;
  iptables-legacy) multi "$1/programs/xtables-legacy-multi" ;;
  nft) ln -s "$1/programs/nft" /usr/sbin/nft ;;
esac
# Under their own names they are as on a machine whose alternatives were switched.
[ -z "$3" ] || for name in iptables iptables-save; do
  ln -s "$1/programs/xtables-nft-multi" "/usr/sbin/iptables-nft\${name#iptables}"
  ln -s "$1/programs/xtables-legacy-multi" "/usr/sbin/iptables-legacy\${name#iptables}"
done
`;

/** A network namespace with a view of /usr/sbin of its own, and an outside network that knows no route to its pods. */
export class IsolatedMachine {
  readonly #folder = mkdtempSync(join(tmpdir(), 'nodelet-machine-'));
  readonly #children: ChildProcess[] = [];
  /** The command prefixes that enter them. */
  #inside: readonly string[] = [];
  #net: readonly string[] = [];
  #outside: readonly string[] = [];

  static async create(): Promise<IsolatedMachine> {
    const machine = new IsolatedMachine();
    await machine.#start();
    return machine;
  }

  async #start(): Promise<void> {
    const inside = await this.#hold('unshare', '--mount', '--net', 'sh', '-euc', SET_UP, 'sh', this.#folder);
    const outside = await this.#hold(
      'unshare',
      '--net',
      'sh',
      '-euc',
      'ip link set lo up; echo ready; exec sleep infinity',
    );
    this.#net = ['nsenter', `--net=/proc/${inside}/ns/net`];
    this.#inside = [...this.#net, `--mount=/proc/${inside}/ns/mnt`];
    this.#outside = ['nsenter', `--net=/proc/${outside}/ns/net`];
    const ip = (prefix: readonly string[], ...args: string[]): string => this.#run([...prefix, 'ip', ...args]);
    ip(this.#net, 'link', 'add', 'up0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', `${outside}`);
    ip(this.#net, 'address', 'add', `${MACHINE_ADDRESS}/30`, 'dev', 'up0');
    ip(this.#outside, 'address', 'add', `${OUTSIDE_ADDRESS}/30`, 'dev', 'eth0');
    ip(this.#net, 'link', 'set', 'up0', 'up');
    ip(this.#outside, 'link', 'set', 'eth0', 'up');
    ip(this.#net, 'route', 'add', 'default', 'via', OUTSIDE_ADDRESS);
  }

  /** The prefix of commands on this machine. */
  get prefix(): readonly string[] {
    return this.#inside;
  }

  /** Shows only these programs. `switched`: iptables has both variants under their own names too. */
  use(programs: NatPrograms, { switched = false } = {}): void {
    this.#run([...this.#inside, 'sh', '-euc', USE, 'sh', this.#folder, programs, switched ? 'yes' : '']);
  }

  /** Adds `nft` to the programs. */
  showNft(): void {
    this.#run([...this.#inside, 'ln', '-s', `${this.#folder}/programs/nft`, '/usr/sbin/nft']);
  }

  /** All rules of its kernel, whatever program they are for. */
  rules(): string {
    return [
      ['nft', 'list', 'ruleset'],
      ['iptables-legacy-save', '-t', 'nat'],
    ]
      .map((command) => this.#run([...this.#net, ...command]))
      .join('');
  }

  links(): string {
    return this.#run([...this.#net, 'ip', '-o', 'link']);
  }

  /** Changes its rules. */
  nft(command: string): void {
    this.#run([...this.#net, 'nft', command]);
  }

  /** A server in the outside network that answers each client with the client's address. */
  async serveOutside(port: number): Promise<void> {
    const answer = `require('node:net').createServer((s) => s.on('error', () => {}).end(s.remoteAddress + '\\n')).listen(${port}, '0.0.0.0', () => console.log('ready'))`;
    await this.#hold(...this.#outside, process.execPath, '-e', answer);
  }

  /** The answer of a server to a client on the machine or outside. Empty without a server. */
  ask(from: 'machine' | 'outside', host: string, port: number): string {
    const prefix = from === 'machine' ? this.#net : this.#outside;
    try {
      return this.#run([...prefix, 'busybox', 'timeout', '5', 'busybox', 'nc', '-w', '2', host, `${port}`]);
    } catch {
      return '';
    }
  }

  /** Ends its processes by id; the namespaces go with them. */
  async close(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Starts a process that writes `ready`, and returns its id. */
  async #hold(...[program = '', ...args]: readonly string[]): Promise<number> {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#children.push(child);
    const [first] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    if (!String(first).startsWith('ready') || child.pid === undefined)
      throw new Error(`${program} ended with ${first}`);
    return child.pid;
  }

  #run([program = '', ...args]: readonly string[]): string {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }
}
