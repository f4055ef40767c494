/** Memory, swap and errors of cgroup v2: pods of `nodelet kubelet`, and containers of the CRI runtime. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { connectCri } from '../../../src/cri/client.ts';
import {
  ContainerConfig,
  LinuxContainerResources,
  NamespaceMode,
  PodSandboxConfig,
} from '../../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';
import { KubeletAgent, nodelet, read, unitProperty, until, writePod } from '../kubelet-agent.ts';
import { BUSYBOX, NODELET } from '../nodelet-program.ts';
import { systemdSkipReason } from '../systemd-skip.ts';

const CGROUPS = '/sys/fs/cgroup';
const MiB = 2 ** 20;
const { signal } = new AbortController();

const DRIVERS = {
  cgroupfs: { kubepods: '/kubepods', burstable: '/kubepods/burstable', parent: '/cgroup2-test' },
  systemd: {
    kubepods: '/kubepods.slice',
    burstable: '/kubepods.slice/kubepods-burstable.slice',
    parent: 'cgroup2test.slice',
  },
} as const;

const MEMORY = {
  featureGates: { MemoryQoS: true },
  memoryReservationPolicy: 'TieredReservation',
  memoryThrottlingFactor: 0.5,
};
const GUARANTEED = { limits: { cpu: '100m', memory: '32Mi' } };
const BURSTABLE = { requests: { memory: '16Mi' }, limits: { memory: '48Mi' } };

suite('cgroup v2', { skip: systemdSkipReason(), timeout: 1_800_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-cgroup2-'));
  const swap = '/var/tmp/nodelet-cgroup2.swap';
  const agent = new KubeletAgent(folder);

  before(() => {
    execFileSync('dd', ['if=/dev/zero', `of=${swap}`, 'bs=1M', 'count=64', 'status=none']);
    execFileSync('chmod', ['600', swap]);
    execFileSync('mkswap', ['-q', swap]);
    execFileSync('swapon', [swap]);
    // Puts the image into the store of the runtime.
    nodelet('run', '--once', writePod(join(folder, 'once.yaml'), 'once', {}, ['true']));
  });
  after(async () => {
    await agent.stop();
    execFileSync('swapoff', [swap]);
    rmSync(swap);
    rmSync(folder, { recursive: true, force: true });
  });

  test('an agent does not start on a machine with swap unless it is allowed', async () => {
    const [code] = await once(agent.start({}), 'exit');
    assert.notEqual(code, 0);
    assert.match(agent.log, /running with swap on is not supported, please disable swap or set --fail-swap-on flag/);
  });

  for (const [cgroupDriver, { kubepods, burstable }] of Object.entries(DRIVERS)) {
    test(`${cgroupDriver}: memory of pods is protected and throttled, and they do not swap`, async (t) => {
      t.after(() => agent.stop());
      const podsBelow = (path: string) => groupsBelow(path).filter((each) => /pod[0-9a-f]{32}/.test(basename(each)));
      agent.start({ ...MEMORY, cgroupDriver, failSwapOn: false });
      agent.addPod('guaranteed', GUARANTEED);
      agent.addPod('burstable', BURSTABLE);
      const [pod, burstablePod] = await until('two pods', () => {
        const found = [...podsBelow(kubepods), ...podsBelow(burstable)];
        return found.length === 2 && found.every((each) => groupsBelow(each).length > 0) ? found : undefined;
      });
      assert.ok(pod && burstablePod);
      const [container = ''] = groupsBelow(pod);
      const [burstableContainer = ''] = groupsBelow(burstablePod);
      await until('processes', () => read(`${CGROUPS}${container}/cgroup.procs`) || undefined);
      await until('processes', () => read(`${CGROUPS}${burstableContainer}/cgroup.procs`) || undefined);

      assert.equal(file(kubepods, 'memory.min'), 48 * MiB);
      assert.equal(file(burstable, 'memory.low'), 16 * MiB);
      assert.deepEqual(memoryOf(pod), { min: 32 * MiB, low: 0, high: 'max' });
      assert.deepEqual(memoryOf(burstablePod), { min: 0, low: 16 * MiB, high: 'max' });
      assert.deepEqual(memoryOf(container), { min: 32 * MiB, low: 0, high: 'max' });
      assert.deepEqual(memoryOf(burstableContainer), { min: 0, low: 16 * MiB, high: 32 * MiB });
      for (const each of [container, burstableContainer]) {
        assert.equal(file(each, 'memory.swap.max'), 0);
        // systemd has no property for it: crun writes the file when the process is in its cgroup already.
        await until('memory.oom.group', () => file(each, 'memory.oom.group') === 1 || undefined);
      }
      if (cgroupDriver === 'systemd') {
        assert.equal(unitProperty(basename(pod), 'MemoryMin'), String(32 * MiB));
        assert.equal(unitProperty(basename(burstablePod), 'MemoryLow'), String(16 * MiB));
        assert.equal(unitProperty(basename(kubepods), 'MemoryMin'), String(48 * MiB));
      }
      agent.removePod('guaranteed');
      agent.removePod('burstable');
      await until('no pods', () => (podsBelow(kubepods).length + podsBelow(burstable).length > 0 ? undefined : true));
      await until('no protected memory', () => file(kubepods, 'memory.min') === 0 || undefined);
    });
  }

  test('a pod below a cgroup with processes is refused with the cause, and starts without them', async (t) => {
    t.after(() => agent.stop());
    const root = '/cgroup2-busy';
    mkdirSync(`${CGROUPS}${root}`);
    const inside = spawn('sleep', ['100000']);
    await once(inside, 'spawn');
    writeFileSync(`${CGROUPS}${root}/cgroup.procs`, String(inside.pid));
    agent.log = '';
    agent.start({ cgroupRoot: root, cgroupDriver: 'cgroupfs', failSwapOn: false });
    agent.addPod('refused', {});
    const why = `is not enabled below ${root}: ${root} has processes of its own (${inside.pid})`;
    await until('the rejection', () => agent.log.includes(why) || undefined);

    const ended = once(inside, 'exit');
    inside.kill('SIGKILL');
    await ended;
    const pods = `${root}/kubepods/besteffort`;
    await until('a container', () => groupsBelow(pods).find((pod) => groupsBelow(pod).length > 0));
    agent.removePod('refused');
    await until('no pods', () => (groupsBelow(pods).length > 0 ? undefined : true));
    await agent.stop();
    for (const path of [pods, `${root}/kubepods`, root]) {
      if (existsSync(`${CGROUPS}${path}`)) rmdirSync(`${CGROUPS}${path}`);
    }
  });

  for (const [driver, { parent }] of Object.entries(DRIVERS)) {
    test(`${driver}: the runtime applies and updates files of cgroup v2`, async () => {
      const endpoint = `unix://${folder}/${driver}.sock`;
      const [program, ...args] = NODELET;
      const child = spawn(program, [...args, 'cri', '--listen', endpoint, '--cgroup-driver', driver], {
        stdio: 'inherit',
      });
      const { runtime, close } = connectCri(endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 300_000 });
      try {
        await until('the runtime', () => existsSync(endpoint.slice('unix://'.length)) || undefined);
        const sandbox = PodSandboxConfig.fromPartial({
          metadata: { name: 'cgroup2', namespace: 'default', uid: `cgroup2-${driver}` },
          linux: { cgroupParent: parent, securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } },
        });
        const { podSandboxId } = await runtime.runPodSandbox({ config: sandbox, runtimeHandler: '' }, signal);
        const first = { 'memory.oom.group': '1', 'memory.swap.max': String(4 * MiB), 'memory.min': String(MiB) };
        const config = ContainerConfig.fromPartial({
          metadata: { name: 'main' },
          image: { image: BUSYBOX },
          command: ['sleep', '100000'],
          linux: {
            resources: { memoryLimitInBytes: BigInt(32 * MiB), unified: first },
            securityContext: { namespaceOptions: { network: NamespaceMode.NODE, pid: NamespaceMode.CONTAINER } },
          },
        });
        const { containerId } = await runtime.createContainer({ podSandboxId, config, sandboxConfig: sandbox }, signal);
        await runtime.startContainer({ containerId }, signal);
        const before = await runtime.containerStatus({ containerId, verbose: true }, signal);
        const { pid } = JSON.parse(before.info['info'] ?? '{}') as { readonly pid: number };
        const path = read(`/proc/${pid}/cgroup`).slice('0::'.length);
        const values = (names: readonly string[]) => names.map((name) => file(path, name));
        const names = ['memory.max', 'memory.swap.max', 'memory.min', 'memory.high', 'memory.oom.group'];
        assert.deepEqual(values(names), [32 * MiB, 4 * MiB, MiB, 'max', 1]);

        const update = { 'memory.swap.max': String(2 * MiB), 'memory.min': '0', 'memory.high': String(16 * MiB) };
        const linux = LinuxContainerResources.fromPartial({
          memoryLimitInBytes: BigInt(24 * MiB),
          cpusetCpus: '0',
          unified: update,
        });
        await runtime.updateContainerResources({ containerId, linux, windows: undefined, annotations: {} }, signal);
        assert.deepEqual(values(names), [24 * MiB, 2 * MiB, 0, 16 * MiB, 1]);
        assert.equal(read(`${CGROUPS}${path}/cpuset.cpus`), '0');
        const { status } = await runtime.containerStatus({ containerId, verbose: false }, signal);
        assert.deepEqual(status?.resources?.linux?.unified, { ...first, ...update });

        await runtime.stopPodSandbox({ podSandboxId }, signal);
        await runtime.removePodSandbox({ podSandboxId }, signal);
        assert.equal(existsSync(`${CGROUPS}${path}`), false);
      } finally {
        close();
        const exited = once(child, 'exit');
        child.kill('SIGTERM');
        await exited;
        if (driver === 'systemd') execFileSync('systemctl', ['stop', parent]);
        else if (existsSync(`${CGROUPS}${parent}`)) rmdirSync(`${CGROUPS}${parent}`);
      }
    });
  }
});

/** The cgroups directly below one; none if it does not exist. */
function groupsBelow(path: string): readonly string[] {
  if (!existsSync(`${CGROUPS}${path}`)) return [];
  const entries = readdirSync(`${CGROUPS}${path}`, { withFileTypes: true });
  return entries.filter((each) => each.isDirectory()).map(({ name }) => `${path}/${name}`);
}

function memoryOf(path: string): object {
  return { min: file(path, 'memory.min'), low: file(path, 'memory.low'), high: file(path, 'memory.high') };
}

function file(path: string, name: string): number | 'max' {
  const text = read(`${CGROUPS}${path}/${name}`);
  return text === 'max' ? text : Number(text);
}
