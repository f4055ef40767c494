/** Pods of `nodelet kubelet` and its embedded runtime with the systemd cgroup driver. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { nodelet, read, unitProperty, writePod } from '../kubelet-agent.ts';
import { NODELET } from '../nodelet-program.ts';
import { systemdSkipReason } from '../systemd-skip.ts';

const CGROUPS = '/sys/fs/cgroup';
const KUBEPODS = `${CGROUPS}/kubepods.slice`;

/** One pod of each QoS class: its limits, and the files of its slice. */
const PODS = {
  guaranteed: {
    resources: { limits: { cpu: '250m', memory: '64Mi' } },
    slice: /^kubepods-pod[0-9a-f]{32}\.slice$/,
    folder: KUBEPODS,
    files: { 'cpu.max': '25000 100000', 'memory.max': '67108864', 'cpu.weight': '10' },
  },
  burstable: {
    resources: { requests: { cpu: '500m' }, limits: { memory: '32Mi' } },
    slice: /^kubepods-burstable-pod[0-9a-f]{32}\.slice$/,
    folder: `${KUBEPODS}/kubepods-burstable.slice`,
    files: { 'cpu.max': 'max 100000', 'memory.max': '33554432', 'cpu.weight': '20' },
  },
  besteffort: {
    resources: {},
    slice: /^kubepods-besteffort-pod[0-9a-f]{32}\.slice$/,
    folder: `${KUBEPODS}/kubepods-besteffort.slice`,
    files: { 'cpu.max': 'max 100000', 'memory.max': 'max', 'cpu.weight': '1' },
  },
} as const;

suite('pods with the systemd cgroup driver', { skip: systemdSkipReason(), timeout: 1_800_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-systemd-'));
  const manifests = join(folder, 'manifests');
  const config = join(folder, 'config.yaml');
  let agent: ChildProcess | undefined;

  before(async () => {
    mkdirSync(manifests);
    const settings = { staticPodPath: manifests, cgroupDriver: 'systemd', containerRuntimeEndpoint: 'embedded' };
    const access = {
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
    };
    const servers = { enableServer: false, healthzPort: 0, ...access };
    const header = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
    writeFileSync(config, JSON.stringify({ ...header, ...settings, ...servers }));
    // Puts the image into the store of the runtime.
    nodelet('run', '--once', writePod(join(folder, 'once.yaml'), 'once', {}, ['true']));
    agent = start();
  });
  after(async () => {
    rmSync(manifests, { recursive: true, force: true });
    if (agent && (await until('no pods', () => pods().length === 0).catch(() => false)) !== undefined)
      await stop(agent);
    rmSync(folder, { recursive: true, force: true });
  });

  function start(): ChildProcess {
    const [program, ...args] = NODELET;
    return spawn(program, [...args, 'kubelet', '--config', config, '--root-dir', join(folder, 'kubelet')], {
      stdio: 'inherit',
    });
  }

  test('each pod has its slice, and each container its scope', async () => {
    for (const [name, { resources }] of Object.entries(PODS))
      writePod(join(manifests, `${name}.yaml`), name, resources);
    for (const { slice, folder: parent, files } of Object.values(PODS)) {
      const pod = await until('a slice', () => readdirSync(parent).find((each) => slice.test(each)), parent);
      const scope = await until('a scope', () =>
        readdirSync(join(parent, pod)).find((each) => each.endsWith('.scope')),
      );
      assert.match(scope, /^cri-nodelet-[0-9a-f]{64}\.scope$/);
      const pids = await until('a process', () => read(join(parent, pod, scope, 'cgroup.procs')) || undefined);
      assert.match(read(`/proc/${pids.split('\n')[0]}/cgroup`), new RegExp(`${pod}/${scope}$`));
      const found = Object.fromEntries(Object.keys(files).map((file) => [file, read(join(parent, pod, file))]));
      assert.deepEqual(found, files);
      assert.equal(unitProperty(scope, 'ActiveState'), 'active');
      assert.equal(unitProperty(pod, 'MemoryMax'), files['memory.max'] === 'max' ? 'infinity' : files['memory.max']);
    }
  });

  test('a reload of systemd and a restart of the agent change nothing', async () => {
    const before = processes();
    assert.equal(before.length, 3);
    execFileSync('systemctl', ['daemon-reload']);
    execFileSync('systemctl', ['daemon-reexec']);
    assert.ok(agent);
    await stop(agent);
    assert.deepEqual(processes(), before);
    agent = start();
    await delay(20_000);
    assert.deepEqual(processes(), before);
    for (const { folder: parent, slice, files } of Object.values(PODS)) {
      const pod = readdirSync(parent).find((each) => slice.test(each)) ?? '';
      assert.equal(read(join(parent, pod, 'memory.max')), files['memory.max']);
    }
  });

  test('a removed pod leaves no unit and no cgroup', async () => {
    for (const name of Object.keys(PODS)) rmSync(join(manifests, `${name}.yaml`));
    await until('no pod is left', () => (pods().length === 0 ? true : undefined));
    const units = execFileSync('systemctl', ['list-units', '--all', '--plain', '--no-legend'], { encoding: 'utf8' });
    assert.deepEqual(units.match(/^\S*(kubepods\S*-pod|cri-nodelet)\S*/gm) ?? [], []);
  });
});

/** The slices of pods. */
function pods(): readonly string[] {
  return Object.values(PODS).flatMap(({ folder: parent, slice }) =>
    existsSync(parent) ? readdirSync(parent).filter((each) => slice.test(each)) : [],
  );
}

/** Pids of the first processes of all containers. */
function processes(): readonly string[] {
  return Object.values(PODS).flatMap(({ folder: parent, slice }) =>
    readdirSync(parent)
      .filter((each) => slice.test(each))
      .flatMap((pod) =>
        readdirSync(join(parent, pod))
          .filter((each) => each.endsWith('.scope'))
          .map((each) => join(parent, pod, each)),
      )
      .map((scope) => read(join(scope, 'cgroup.procs'))),
  );
}

async function stop(agent: ChildProcess): Promise<void> {
  const exited = once(agent, 'exit');
  agent.kill('SIGTERM');
  await exited;
}

/** Polls, because the machine is emulated; fails after ten minutes. */
async function until<T>(what: string, find: () => T | undefined, folder?: string): Promise<T> {
  for (const end = Date.now() + 600_000; Date.now() < end; await delay(500)) {
    const found = folder === undefined || existsSync(folder) ? find() : undefined;
    if (found !== undefined) return found;
  }
  throw new Error(`no sign of: ${what}`);
}
