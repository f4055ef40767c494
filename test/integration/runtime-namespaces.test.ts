/** Namespaces held by files, on the real kernel: what a joining process sees. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, suite, test } from 'node:test';
import { linuxMounts } from '../../src/host/linux/mount/linux-mounts.ts';
import { createLinuxNamespaces } from '../../src/host/linux/namespace/linux-namespaces.ts';

const skip = skipReason();

suite('namespaces held by files', { skip, timeout: 600_000 }, () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'nodelet-namespaces-test-')));
  const namespaces = createLinuxNamespaces();
  const files = { network: `${root}/net`, ipc: `${root}/ipc`, uts: `${root}/uts` };
  const held = async (): Promise<string[]> =>
    (await linuxMounts.list()).map(({ target }) => target).filter((target) => target.startsWith(root));

  afterEach(async () => {
    await namespaces.remove([...(await held()), ...readdirSync(root).map((name) => `${root}/${name}`)]);
    assert.deepEqual([readdirSync(root), await held()], [[], []]);
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  test('differ from ours, with the loopback up, the hostname and the sysctls of the pod', async () => {
    const sysctls = [
      ['net/ipv4/ip_unprivileged_port_start', '80'],
      ['kernel/shmmni', '1234'],
      ['fs/mqueue/msg_max', '77'],
      ['kernel/domainname', 'example.org'],
    ] as const;
    const before = readFileSync('/proc/sys/kernel/shmmni', 'utf8');
    await namespaces.create({ files, hostname: 'pod-1', sysctls });
    const seen = inside(
      files,
      `hostname; cat ${sysctls.map(([path]) => `/proc/sys/${path}`).join(' ')}; ip -o addr show lo; ip -o link`,
    );
    const [hostname, ...values] = seen.split('\n');
    assert.deepEqual([hostname, values.slice(0, 4)], ['pod-1', ['80', '1234', '77', 'example.org']]);
    assert.match(seen, /127\.0\.0\.1\/8/);
    assert.match(seen, /LOOPBACK,UP,LOWER_UP/);
    assert.deepEqual([...seen.matchAll(/^\d+: (\w+)[@:].*link\//gm)].map(([, name]) => name).filter(isRealLink), [
      'lo',
    ]);
    assert.equal(readFileSync('/proc/sys/kernel/shmmni', 'utf8'), before);
    assertAtHome();
  });

  test('do not see each other', async () => {
    const other = { network: `${root}/net-2`, ipc: `${root}/ipc-2`, uts: `${root}/uts-2` };
    await Promise.all([
      namespaces.create({ files, hostname: 'one' }),
      namespaces.create({ files: other, hostname: 'two' }),
    ]);
    const links = 'hostname; readlink /proc/self/ns/net /proc/self/ns/ipc /proc/self/ns/uts';
    const [one = [], two = []] = [files, other].map((each) => inside(each, links).split('\n').slice(0, 4));
    const ours = ['net', 'ipc', 'uts'].map((kind) => readlinkSync(`/proc/self/ns/${kind}`));
    assert.equal(new Set([...one, ...two, ...ours]).size, 11);
  });

  test('leave the thread in its namespaces when the kernel rejects a value', async () => {
    const bad = { files, sysctls: [['net/ipv4/ip_unprivileged_port_start', 'many']] as const };
    await assert.rejects(namespaces.create(bad), { code: 'EINVAL', sysctl: 'net/ipv4/ip_unprivileged_port_start' });
    assertAtHome();
    await namespaces.create({ files: { uts: files.uts }, hostname: 'alone' });
    assert.equal(
      inside({ uts: files.uts }, 'hostname; readlink /proc/self/ns/net').split('\n')[1],
      readlinkSync('/proc/self/ns/net'),
    );
  });

  test('of a process with its own user namespace outlive it, with the loopback up', async () => {
    const child = spawn('unshare', ['-U', '-r', '-n', '-i', '-u', 'sh', '-c', 'echo up; read line'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    const all = { ...files, user: `${root}/user` };
    await namespaces.pin(child.pid ?? 0, all);
    const theirs = readlinkSync(`/proc/${child.pid}/ns/net`);
    child.stdin.end();
    await once(child, 'exit');
    assert.match(inside(files, 'readlink /proc/self/ns/net; ip -o addr show lo'), /127\.0\.0\.1/);
    assert.equal(inside(files, 'readlink /proc/self/ns/net').trim(), theirs);
    assertAtHome();
  });

  test('are created by a new thread after one has failed, without leaks of the failed one', async () => {
    const broken = 5 as unknown as []; // not an array: the thread ends in the middle of its work, after unshare(2)
    await assert.rejects(namespaces.create({ files, sysctls: broken }), { name: 'NamespaceError', code: 'EIO' });
    assert.deepEqual([readdirSync(root), await held()], [[], []]);
    await namespaces.create({ files, hostname: 'again' });
    assert.equal(inside(files, 'hostname').trim(), 'again');
    assertAtHome();
  });

  test('of a missing process cannot be held', async () => {
    await assert.rejects(namespaces.pin(0x7fffffff, files), { name: 'NamespaceError', code: 'ENOENT' });
  });
});

/** The output of a shell that has joined these. */
function inside(
  files: { readonly network?: string; readonly ipc?: string; readonly uts?: string },
  script: string,
): string {
  const { network, ipc, uts } = files;
  const flags = [
    ...(network ? [`--net=${network}`] : []),
    ...(ipc ? [`--ipc=${ipc}`] : []),
    ...(uts ? [`--uts=${uts}`] : []),
  ];
  return execFileSync('nsenter', [...flags, 'sh', '-c', script], { encoding: 'utf8' });
}

/** All threads of ours are in the same namespaces as the first. */
function assertAtHome(): void {
  for (const kind of ['net', 'ipc', 'uts']) {
    const seen = readdirSync('/proc/self/task').flatMap((task) => namespaceOf(task, kind));
    assert.deepEqual([...new Set(seen)], [readlinkSync(`/proc/self/ns/${kind}`)]);
  }
}

function namespaceOf(task: string, kind: string): string[] {
  try {
    return [readlinkSync(`/proc/self/task/${task}/ns/${kind}`)];
  } catch {
    return []; // exited meanwhile
  }
}

/** A kernel with built-in tunnels has one of each kind in every namespace. */
function isRealLink(name: string | undefined): boolean {
  return name !== undefined && !/^(tunl|sit|ip6tnl|gre|gretap|erspan|ip6gre|ip_vti|ip6_vti|ip6_)/.test(name);
}

function skipReason(): string | false {
  if (process.getuid?.() !== 0) return 'needs root';
  for (const program of ['nsenter', 'unshare', 'ip']) {
    try {
      execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    } catch {
      return `needs ${program}`;
    }
  }
  return false;
}
