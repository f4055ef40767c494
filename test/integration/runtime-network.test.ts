import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { silentLog } from '../../src/base/log.ts';
import { Protocol } from '../../src/cri/generated/runtime-v1.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { createPodNetwork } from '../../src/runtime/network/create-pod-network.ts';
import { defaultBridgeConfig, ensureMasquerade } from '../../src/runtime/network/default-bridge.ts';
import type { NetworkedPod } from '../../src/runtime/network/pod-network.ts';
import type { NetworkSettings } from '../../src/runtime/settings/runtime-settings.ts';
import { claimSubnet } from './claimed-subnet.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

const BIN_DIR = '/usr/lib/cni';
const PLUGINS = ['bridge', 'host-local', 'portmap', 'ptp'];
const { fs, processes, clock } = createLinuxHost(process.env);
const signal = new AbortController().signal;
/** Names of killed runs may still be taken, and process ids are reused. */
const mark = `nln${randomBytes(4).toString('hex')}`;
const bridge = `${mark}br`;
const folder = mkdtempSync(join(tmpdir(), 'nodelet-network-'));
const { v4, v6 } = claimSubnet();
const masquerade = { backend: 'iptables', bridge, podCidrs: [v4, v6] } as const;
/** The prefix of an address in it: `10.64.0.`, `fd00:4000::`. */
const [prefix4, prefix6] = [v4.replace('0/24', ''), v6.replace('/64', '')];
let lastPod = 0;

function skipReason(): string | false {
  if (process.getuid?.() !== 0) return 'needs root';
  const missing = PLUGINS.filter((plugin) => !existsSync(`${BIN_DIR}/${plugin}`));
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`;
  for (const program of ['/usr/sbin/ip', '/usr/sbin/iptables', '/usr/sbin/ip6tables', '/bin/busybox']) {
    if (!existsSync(program)) return `not installed: ${program}`;
  }
  if (!existsSync('/proc/sys/net/ipv6')) return 'needs IPv6';
  try {
    accessSync('/proc/sys/net/ipv4/ip_forward', constants.W_OK);
    execFileSync('iptables', ['-w', '-t', 'nat', '-S', 'POSTROUTING'], { stdio: 'ignore' });
  } catch {
    return 'needs iptables and writable /proc/sys/net';
  }
  return false;
}

const skip = skipReason();
const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });
const namespacesOfRun = (): string[] => (existsSync('/run/netns') ? readdirSync('/run/netns') : []).filter(isOfRun);
const isOfRun = (name: string): boolean => name.startsWith(`${mark}-`);
const leases = (ipamDir: string): string[] =>
  readdirSync(join(ipamDir, bridge)).filter((name) => /^[0-9a-f]+[.:]/.test(name));
const links = (): string[] =>
  ip('-o', 'link')
    .split('\n')
    .filter((line) => line.includes(`master ${bridge} `));

/** A process on the directory of one test; a second one is a restart. */
function network(place: string, settings: Partial<NetworkSettings> = {}) {
  return createPodNetwork({
    ...{ fs, processes, clock, log: silentLog, cacheDir: join(place, 'cache') },
    settings: {
      ...{ confDir: join(place, 'net.d'), binDirs: ['/nowhere', BIN_DIR] },
      ...{ maxConfigs: 1, setUpSerially: false, ipPreference: 'ipv4', handlers: new Map() },
      ...settings,
    },
  });
}

async function place(podCidrs: readonly string[] = masquerade.podCidrs): Promise<string> {
  const made = mkdtempSync(join(folder, 'case-'));
  await fs.makeDirectory(join(made, 'net.d'));
  const config = defaultBridgeConfig({ backend: 'iptables', bridge, podCidrs, ipamDir: join(made, 'ipam') });
  writeFileSync(join(made, 'net.d', '10-default.conflist'), config);
  return made;
}

function newPod(given: Partial<NetworkedPod> = {}): NetworkedPod {
  const sandboxId = `${mark}-${++lastPod}`;
  ip('netns', 'add', sandboxId);
  return {
    ...{ sandboxId, namespacePath: `/run/netns/${sandboxId}`, name: 'web', namespace: 'default', uid: 'u1' },
    ...{
      runtimeHandler: '',
      annotations: {},
      portMappings: [],
      cgroupParent: '',
      dns: { servers: [], searches: [], options: [] },
    },
    ...given,
  };
}

function removeMasquerade(program: string): void {
  const rules = execFileSync(program, ['-w', '-t', 'nat', '-S', 'POSTROUTING'], { encoding: 'utf8' }).split('\n');
  for (const rule of rules.filter((line) => line.includes(`"nodelet ${bridge}"`))) {
    const words = rule.replaceAll(`"nodelet ${bridge}"`, `nodelet_${bridge}`).split(' ').slice(1);
    const args = words.map((word) => (word === `nodelet_${bridge}` ? `nodelet ${bridge}` : word));
    execFileSync(program, ['-w', '-t', 'nat', '-D', ...args]);
  }
}

before(async () => {
  if (skip === false) await ensureMasquerade(processes, masquerade, signal);
});

after(async () => {
  if (skip === false) {
    for (const name of namespacesOfRun()) ip('netns', 'del', name);
    if (ip('-o', 'link').includes(`: ${bridge}:`)) ip('link', 'del', bridge);
    for (const program of ['iptables', 'ip6tables']) removeMasquerade(program);
  }
  rmSync(folder, { recursive: true, force: true });
});

test('a pod gets an address of each IP family, CHECK succeeds, DEL removes all of it', { skip }, async () => {
  const here = await place();
  const pods = network(here);
  const pod = newPod();
  const { ips } = await pods.setUp(pod, signal);
  assert.match(ips.join(' '), new RegExp(`^${RegExp.escape(prefix4)}\\d+ ${prefix6}[0-9a-f]+$`));
  const inside = ip('-n', pod.sandboxId, '-o', 'address', 'show', 'dev', 'eth0');
  for (const address of ips) assert.ok(inside.includes(` ${address}/`), inside);
  assert.ok(ip('-n', pod.sandboxId, 'route').includes(`default via ${prefix4}1 dev eth0`));
  await pods.check(pod, signal);
  assert.equal(leases(join(here, 'ipam')).length, 2);

  ip('-n', pod.sandboxId, 'link', 'set', 'eth0', 'down');
  ip('-n', pod.sandboxId, 'address', 'flush', 'dev', 'eth0');
  await assert.rejects(pods.check(pod, signal), { message: /^plugin type="bridge" name="nln.*" failed \(check\): / });

  await pods.tearDown(pod, signal);
  await pods.tearDown(pod, signal);
  assert.deepEqual([leases(join(here, 'ipam')), links(), readdirSync(join(here, 'cache'))], [[], [], []]);
});

test('DEL after a restart, and after the namespace is gone', { skip }, async () => {
  const here = await place();
  const [living, gone] = [newPod(), newPod()];
  const before = network(here);
  await Promise.all([before.setUp(living, signal), before.setUp(gone, signal)]);
  ip('netns', 'del', gone.sandboxId);
  rmSync(join(here, 'net.d'), { recursive: true });

  const later = network(here);
  await later.tearDown(living, signal);
  await later.collectGarbage(new Set(), signal);
  assert.deepEqual([leases(join(here, 'ipam')), readdirSync(join(here, 'cache'))], [[], []]);
});

test('a plugin that was killed at any point leaves nothing after a restart', { skip }, async () => {
  const here = await place();
  for (let ms = 0; ms < 20; ms += 2) {
    const pod = newPod();
    const death = AbortSignal.timeout(ms);
    await network(here)
      .setUp(pod, death)
      .catch(() => {});
    await network(here).collectGarbage(new Set(), signal);
    ip('netns', 'del', pod.sandboxId);
  }
  assert.deepEqual([leases(join(here, 'ipam')), readdirSync(join(here, 'cache'))], [[], []]);
  await until(() => links().length === 0); // the kernel destroys a namespace asynchronously
});

test('thirty pods in parallel have distinct addresses', { skip }, async () => {
  const here = await place([v4]);
  const pods = network(here);
  const all = Array.from({ length: 30 }, () => newPod());
  const ips = await Promise.all(all.map(async (pod) => (await pods.setUp(pod, signal)).ips[0]));
  assert.equal(new Set(ips).size, 30);
  await Promise.all(all.map((pod) => pods.tearDown(pod, signal)));
  assert.deepEqual([leases(join(here, 'ipam')), links()], [[], []]);
});

test('a host port leads to the pod, until DEL', { skip }, async () => {
  const here = await place([v4]);
  const pods = network(here);
  const hostPort = await freePort();
  const pod = newPod({ portMappings: [{ protocol: Protocol.TCP, containerPort: 80, hostPort, hostIp: '' }] });
  const { ips } = await pods.setUp(pod, signal);
  const listen = ['nc', '-ll', '-p', '80', '-e', 'echo', 'hello'];
  const server = spawn('ip', ['netns', 'exec', pod.sandboxId, 'busybox', ...listen], { stdio: 'ignore' });
  const ended = once(server, 'exit');
  try {
    await answerOf(ips[0], 80);
    assert.equal(await answerOf('127.0.0.1', hostPort), 'hello\n');
  } finally {
    server.kill('SIGKILL');
    await ended;
  }
  await pods.tearDown(pod, signal);
  const rules = execFileSync('iptables-save', ['-t', 'nat'], { encoding: 'utf8' });
  assert.ok(!rules.includes(pod.sandboxId) && !rules.includes(`--dport ${hostPort}`), rules);
});

test('two networks, an interface on each', { skip }, async () => {
  const here = await place([v4]);
  const { v4: other } = claimSubnet();
  const ipam = { type: 'host-local', dataDir: join(here, 'ipam'), ranges: [[{ subnet: other }]] };
  const second = { cniVersion: '0.4.0', name: `${mark}-second`, type: 'ptp', ipam };
  writeFileSync(join(here, 'net.d', '20-second.conf'), JSON.stringify(second));
  const pods = network(here, { maxConfigs: 0, setUpSerially: true });
  const pod = newPod();
  const { ips, results } = await pods.setUp(pod, signal);
  assert.match(ips.join(' '), new RegExp(`^${RegExp.escape(prefix4)}\\d+$`));
  assert.deepEqual(Object.keys(results), [`${bridge}/eth0`, `${mark}-second/eth1`]);
  assert.match(
    ip('-n', pod.sandboxId, '-o', 'address', 'show', 'dev', 'eth1'),
    new RegExp(` ${RegExp.escape(other.replace('0/24', ''))}\\d+/`),
  );
  await network(here).tearDown(pod, signal);
  assert.doesNotMatch(ip('-n', pod.sandboxId, '-o', 'link'), /eth[01]/);
});

test('a plugin error names network and plugin, and DEL after it removes partial state', { skip }, async () => {
  const [here, there] = [await place([v4]), await place([v4.replace('/24', '/30')])];
  const [first, second] = [newPod(), newPod()];
  await network(here).setUp(first, signal);
  const other = network(there);
  await assert.rejects(other.setUp(second, signal), {
    message: /^plugin type="bridge" name="nln\w+br" failed \(add\): .*already has an IP address different from/,
  });
  await other.tearDown(second, signal);
  await network(here).tearDown(first, signal);
  assert.deepEqual([leases(join(here, 'ipam')), leases(join(there, 'ipam')), links()], [[], [], []]);
});

test('a configuration that appears later is used, in a directory that appears later too', { skip }, async () => {
  const here = mkdtempSync(join(folder, 'case-'));
  const pods = network(here, { confDir: join(here, 'etc', 'cni', 'net.d') });
  const stop = new AbortController();
  const running = pods.run(stop.signal);
  assert.equal(pods.status().ready, false);
  const steps = [
    () => mkdirSync(join(here, 'etc', 'cni'), { recursive: true }),
    () => mkdirSync(join(here, 'etc', 'cni', 'net.d')),
    () => writeFileSync(join(here, 'etc', 'cni', 'net.d', '10-a.conf'), '{"name":"a","type":"ptp"}'),
  ];
  for (const step of steps) {
    step();
    await delay(1);
  }
  while (!pods.status().ready) await delay(5);
  rmSync(join(here, 'etc'), { recursive: true });
  while (pods.status().ready) await delay(5);
  stop.abort();
  await running;
});

/** The data sent to a client; retries until a server listens. */
async function answerOf(host: string, port: number): Promise<string> {
  return until(async () => {
    let text = '';
    for await (const chunk of connect({ host, port })) text += String(chunk);
    return text;
  });
}
