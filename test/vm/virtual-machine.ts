import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../integration/free-port.ts';
import { qemuArguments, qemuEnvironment, qemuProgram } from './qemu.ts';
import type { VmFiles } from './vm-files.ts';

/** Under emulation; a boot takes some 35 s on an idle machine. */
const BOOT_SECONDS = 600;

// The disk may be in the fstab of a guest that boots again.
const MOUNT_SOURCE = 'mkdir -p /nodelet && { mountpoint -q /nodelet || mount -o ro /dev/vdb /nodelet; }';
const MOUNT_TOOLS = [
  'mkdir -p /tools /var/tools/disk /var/tools/upper /var/tools/work',
  'mount -o ro /dev/vdc /var/tools/disk',
  'mount -t overlay -o lowerdir=/var/tools/disk,upperdir=/var/tools/upper,workdir=/var/tools/work tools /tools',
].join(' && ');

interface Streams {
  readonly input?: string | undefined;
  readonly onOutput?: ((text: string) => void) | undefined;
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface VirtualMachineSettings {
  readonly files: VmFiles;
  /** A file system image, mounted read-only at `/nodelet`. */
  readonly source: string;
  /** The same at `/tools`, where the guest may change its files: they are copied on write. */
  readonly tools?: string | undefined;
  /** Appended to the guest's kernel command line, for other cgroup versions. */
  readonly kernelArguments?: readonly string[];
}

/**
 * A guest with a disk of its own. Its disk outlives `cutPower`: the next `boot` finds what the guest had written. Dispose of
 * it to end QEMU and remove the disk.
 */
export class VirtualMachine implements AsyncDisposable {
  readonly #settings: VirtualMachineSettings;
  readonly #folder = mkdtempSync(join(tmpdir(), 'nodelet-vm-'));
  #qemu: ChildProcess | undefined;
  #master: ChildProcess | undefined;
  #sshPort = 0;

  constructor(settings: VirtualMachineSettings) {
    this.#settings = settings;
    const [program, ...args] = qemuProgram(settings.files, 'qemu-img', [
      ...['create', '-q', '-f', 'qcow2', '-F', 'raw', '-b', settings.files.disk, this.#path('disk.qcow2')],
    ]);
    execFileSync(program, args, { env: qemuEnvironment(settings.files) });
  }

  /** Resolves when the guest answers; returns the seconds that it took. */
  async boot(): Promise<number> {
    if (this.#qemu) throw new Error('the virtual machine is running already');
    const started = performance.now();
    this.#sshPort = await freePort();
    const { files, source, tools, kernelArguments = [] } = this.#settings;
    const console = this.#path('console.log');
    const disk = this.#path('disk.qcow2');
    const args = qemuArguments({ files, disk, source, tools, sshPort: this.#sshPort, console, kernelArguments });
    // It ends with this process, however that ends.
    const program = ['--pdeathsig', 'KILL', ...qemuProgram(files, 'qemu-system-x86_64', args)];
    this.#qemu = spawn('setpriv', program, { env: qemuEnvironment(files), stdio: ['ignore', 'ignore', 'pipe'] });
    let output = '';
    this.#qemu.stderr?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    while (!(await this.#connect())) {
      const seconds = (performance.now() - started) / 1000;
      const hasEnded = this.#qemu.exitCode !== null || this.#qemu.signalCode !== null;
      if (hasEnded || seconds > BOOT_SECONDS) {
        const text = existsSync(console) ? readFileSync(console, 'utf8').slice(-2000) : '';
        throw new Error(`the virtual machine does not answer after ${Math.round(seconds)} s: ${output}\n${text}`);
      }
      await delay(500);
    }
    await this.expect(MOUNT_SOURCE);
    if (tools) await this.expect(MOUNT_TOOLS);
    return (performance.now() - started) / 1000;
  }

  /** Runs a shell command as root in the guest. `onOutput` gets the standard output as it is written. */
  async run(command: string, seconds = 300, onOutput?: (text: string) => void): Promise<Finished> {
    return await this.#ssh([...this.#connection(), command], seconds, { onOutput });
  }

  /** The same for a command that must succeed; returns its standard output. */
  async expect(command: string, seconds = 300): Promise<string> {
    const { code, stdout, stderr } = await this.run(command, seconds);
    if (code !== 0) throw new Error(`${command} failed in the guest with ${code}: ${stderr}`);
    return stdout;
  }

  /** Writes a file of the guest. */
  async write(path: string, content: string, mode = '644'): Promise<void> {
    const command = `mkdir -p "$(dirname ${path})" && cat >${path} && chmod ${mode} ${path}`;
    const { code, stderr } = await this.#ssh([...this.#connection(), command], 300, { input: content });
    if (code !== 0) throw new Error(`cannot write ${path} of the guest: ${stderr}`);
  }

  /** The console of the guest so far: the kernel's and systemd's messages. */
  console(): string {
    return readFileSync(this.#path('console.log'), 'utf8');
  }

  /** As if its power failed: nothing that the guest had not synced is kept. */
  async cutPower(): Promise<void> {
    const qemu = this.#qemu;
    if (!qemu) return;
    this.#qemu = undefined;
    this.#master?.kill('SIGKILL');
    rmSync(this.#path('ssh'), { force: true });
    if (qemu.exitCode !== null || qemu.signalCode !== null) return;
    const exited = once(qemu, 'exit');
    qemu.kill('SIGKILL');
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cutPower();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Opens the connection that all commands share: a handshake takes seconds under emulation. */
  async #connect(): Promise<boolean> {
    this.#master?.kill('SIGKILL');
    this.#master = spawn('ssh', ['-M', '-N', ...this.#connection()], { stdio: 'ignore' });
    for (let attempt = 0; attempt < 40 && this.#master.exitCode === null; attempt++) {
      if ((await this.#ssh(['-O', 'check', ...this.#connection()], 20)).code === 0) return true;
      await delay(500);
    }
    return false;
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  #connection(): readonly string[] {
    const options = [
      ...['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR', 'ConnectTimeout=15'],
      ...['BatchMode=yes', `ControlPath=${this.#path('ssh')}`],
    ];
    const target = ['-p', String(this.#sshPort), 'root@127.0.0.1'];
    return ['-i', this.#settings.files.key, ...options.flatMap((option) => ['-o', option]), ...target];
  }

  async #ssh(args: readonly string[], seconds: number, { input, onOutput }: Streams = {}): Promise<Finished> {
    const child = spawn('ssh', args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: seconds * 1000 });
    child.stdin.on('error', () => {}).end(input); // it may end before it has read all
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      onOutput?.(text);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, stdout, stderr };
  }
}
