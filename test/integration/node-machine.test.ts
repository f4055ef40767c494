/** What `nodelet kubelet` sets up on its machine beside pods, in namespaces of its own. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { busyboxArchive } from '../../src/app/images/local-images.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { PodResourcesListerDefinition } from '../../src/plugins/generated/podresources-v1.ts';
import { PluginConnection, pluginRpc } from '../../src/plugins/plugin-connection.ts';
import { end, launch, newFootprint, started } from './daemon-fixture.ts';
import { removeRuntimeResources } from './runtime-cleanup.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { until } from './until.ts';

const BIN = join(import.meta.dirname, '../../bin/nodelet');
const LIST = pluginRpc(PodResourcesListerDefinition, PodResourcesListerDefinition.methods.list);
const host = createLinuxHost(process.env);
const { cgroups } = host;

const POD = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 0
  containers:
  - {name: main, image: "localhost/nodelet/busybox:1", command: [sleep, "1000"]}
`;

/** The folders of the embedded runtime and of static pods, in a private mount, network and process namespace. */
const SET_UP = `
mount --bind "$1/lib" /var/lib/nodelet
mount --bind "$1/state" /run/nodelet
ip link set lo up
ip link add up0 type veth peer name up1
ip address add 198.51.100.7/24 dev up0
ip link set up0 up
exec catatonit -P
`;

interface Machine {
  readonly folder: string;
  readonly cgroup: string;
  /** The process of the agent, and its end with its log. */
  start(): { readonly daemon: ChildProcess; log(): string };
  run(...command: string[]): string;
}

async function startMachine(t: TestContext): Promise<Machine> {
  const footprint = newFootprint('embedded');
  const { folder, cgroupParent: cgroup } = footprint;
  for (const place of ['/var/lib/nodelet', '/run/nodelet']) mkdirSync(place, { recursive: true });
  for (const name of ['lib', 'state', 'pods', 'root', 'logs']) mkdirSync(join(folder, name), { recursive: true });
  const apart = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private'];
  const outer = launch(['unshare', ...apart, 'sh', '-euc', SET_UP, 'sh', folder], join(folder, 'machine.log'));
  t.after(async () => {
    await end(outer, 'SIGKILL');
    removeRuntimeResources(footprint);
  });
  const first = (): number => Number(readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8').trim());
  const isUp = async (): Promise<boolean> => readFileSync(`/proc/${first()}/comm`, 'utf8').trim() === 'catatonit';
  await started(outer, isUp, join(folder, 'machine.log'));
  const inside = (command: readonly string[]): readonly string[] => [
    ...['nsenter', `--target=${first()}`, '--mount', '--net', '--pid'],
    ...command,
  ];
  const config = join(folder, 'kubelet.json');
  writeFileSync(config, JSON.stringify(configuration(folder, cgroup)));
  return {
    folder,
    cgroup,
    start() {
      const logPath = join(folder, `agent-${Date.now()}.log`);
      const flags = [`--config=${config}`, '--v=2', `--root-dir=${folder}/root`, `--cert-dir=${folder}/certs`];
      const daemon = launch(inside([BIN, 'kubelet', ...flags]), logPath);
      t.after(() => end(daemon, 'SIGKILL'));
      return { daemon, log: () => readFileSync(logPath, 'utf8') };
    },
    run(...command) {
      const [program = '', ...args] = inside(command);
      return execFileSync(program, args, { encoding: 'utf8' });
    },
  };
}

function configuration(folder: string, cgroup: string): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: 'embedded',
    staticPodPath: join(folder, 'pods'),
    podLogsDir: join(folder, 'logs'),
    cgroupRoot: cgroup,
    cgroupDriver: 'cgroupfs',
    failSwapOn: false,
    enableServer: false,
    healthzPort: 0,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    evictionHard: { 'memory.available': '1Mi' },
    syncFrequency: '1s',
    enforceNodeAllocatable: ['pods', 'kube-reserved'],
    kubeReserved: { cpu: '100m', memory: '1Gi', pid: '5000' },
    kubeReservedCgroup: `${cgroup}/kube`,
    kubeletCgroups: `${cgroup}/kube/agent`,
  };
}

/** The containers of the pod, as the only cgroups below it. */
async function podProcesses(cgroup: string): Promise<readonly number[]> {
  const [pod] = (await cgroups.children(`${cgroup}/kubepods/besteffort`)).filter((name) => name.startsWith('pod'));
  return pod === undefined ? [] : cgroups.processes(`${cgroup}/kubepods/besteffort/${pod}`);
}

/** Moves the processes out and removes the cgroup, as an administrator could. */
async function takeCgroup(cgroup: string): Promise<readonly number[]> {
  const pids = await podProcesses(cgroup);
  await cgroups.create(`${cgroup}/elsewhere`);
  for (const pid of pids) await cgroups.addProcess(`${cgroup}/elsewhere`, pid);
  const [pod = ''] = await cgroups.children(`${cgroup}/kubepods/besteffort`);
  await cgroups.remove(`${cgroup}/kubepods/besteffort/${pod}`);
  return pids;
}

test('nodelet kubelet sets up its machine as kubelet does', { skip: embeddedSkipReason() }, async (t) => {
  const { folder, cgroup, start, run } = await startMachine(t);
  const archive = join(folder, 'busybox.tar');
  writeFileSync(archive, (await busyboxArchive(host, t.signal)).bytes);
  run(BIN, 'image', 'load', archive);

  await t.test('it does not start without the cgroup of a reservation', async () => {
    const { daemon, log } = start();
    assert.equal(await new Promise((resolve) => daemon.once('exit', resolve)), 1, log());
    assert.match(
      log(),
      /Failed to start ContainerManager: Failed to enforce Kube Reserved Cgroup Limits on ".*\/kube": /,
    );
  });

  await cgroups.create(`${cgroup}/kube`);
  writeFileSync(join(folder, 'pods/web.yaml'), POD);
  const { daemon, log } = start();

  await t.test('processes of the reservation are limited, and its own process is one of them', async () => {
    await until(async () => (await cgroups.ownProcesses(`${cgroup}/kube/agent`)).length > 0);
    const usage = (await host.cgroupStats.usage([`${cgroup}/kube`])).get(`${cgroup}/kube`);
    assert.equal(usage?.memory.limitBytes, 2 ** 30);
  });

  await t.test('pods are listed by the pod resources API', async () => {
    const socket = join(folder, 'root/pod-resources/kubelet.sock');
    await until(() => existsSync(socket));
    const connection = new PluginConnection(socket, host.clock, 'kubelet');
    t.after(() => connection.close());
    const [pod] = await until(async () => {
      const { podResources } = await connection.call(LIST, {}, 5_000, t.signal);
      return podResources.length > 0 && podResources;
    });
    assert.match(pod?.name ?? '', /^web-/);
    const main = { name: 'main', devices: [], cpuIds: [], memory: [], dynamicResources: [] };
    assert.deepEqual(pod?.containers, [main]);
  });

  await t.test('the network has the chains of kubelet', async () => {
    const has = (table: string, line: string): boolean => run('iptables-save', '-t', table).includes(line);
    await until(() => has('mangle', ':KUBE-IPTABLES-HINT'));
    await until(() => has('filter', '-A INPUT -j KUBE-FIREWALL'));
  });

  await t.test('a running pod without its cgroup is killed, and starts anew in a new one', async () => {
    await until(async () => (await podProcesses(cgroup)).length > 0);
    const before = await takeCgroup(cgroup);
    assert.ok(before.length > 0);
    const after = await until(async () => {
      const pids = await podProcesses(cgroup);
      return pids.length > 0 && pids;
    });
    assert.deepEqual(
      after.filter((pid) => before.includes(pid)),
      [],
    );
    assert.deepEqual(
      before.filter((pid) => existsSync(`/proc/${pid}`)),
      [],
    );
  });

  assert.equal(daemon.exitCode, null, log());
});
