/** The units of packaging/systemd: whatever happens to a service, its containers live. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { unitProperty } from '../kubelet-agent.ts';
import { BUSYBOX, NODELET } from '../nodelet-program.ts';
import { systemdSkipReason } from '../systemd-skip.ts';

/** Of each kind. A start takes half a minute under emulation. */
const TRIALS = Number(process.env['NODELET_VM_TRIALS'] || 1);
const UNITS = '/run/systemd/system';
const PACKAGED = join(import.meta.dirname, '../../../packaging/systemd');
const [CRI, KUBELET, ALONE] = ['nodelet-test-cri.service', 'nodelet-test-kubelet.service', 'nodelet-test.service'];

suite('systemd services', { skip: systemdSkipReason(), timeout: 3_600_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-service-'));
  const [root, state, manifests] = [join(folder, 'root'), join(folder, 'state'), join(folder, 'manifests')];
  const folders = `--root ${root} --state ${state}`;
  const endpoint = `unix://${state}/cri.sock`;

  before(() => {
    for (const path of [manifests, join(folder, 'kubelet')]) mkdirSync(path);
    // Puts the image into the store of the runtime.
    const once = join(folder, 'once.yaml');
    writeFileSync(once, pod('once', ['true']));
    const [program, ...args] = NODELET;
    execFileSync(program, [...args, 'run', '--once', once, '--root', root, '--state', state], { stdio: 'inherit' });
    writeFileSync(join(folder, 'config.yaml'), JSON.stringify(kubeletConfig(manifests, endpoint)));
    install('nodelet-cri', CRI, `cri --listen ${endpoint} ${folders} --cgroup-driver systemd`);
    install('nodelet-kubelet', KUBELET, `kubelet --config ${folder}/config.yaml --root-dir ${folder}/kubelet`);
    install('nodelet', ALONE, `run --allow-empty ${manifests} ${folders}`);
    systemctl('daemon-reload');
  });
  after(() => {
    for (const unit of [KUBELET, CRI, ALONE]) {
      spawnSync('systemctl', ['stop', unit]);
      spawnSync('systemctl', ['reset-failed', unit]);
      rmSync(join(UNITS, unit), { force: true });
      rmSync(join(UNITS, `${unit}.d`), { recursive: true, force: true });
    }
    systemctl('daemon-reload');
    rmSync(folder, { recursive: true, force: true });
  });

  /** The packaged unit with other arguments, under another name. */
  function install(packaged: string, unit: string, args: string): void {
    const text = readFileSync(join(PACKAGED, `${packaged}.service`), 'utf8');
    const started = text.replace(/^ExecStart=.*$/m, `ExecStart=${NODELET.join(' ')} ${args}`);
    writeFileSync(join(UNITS, unit), started.replaceAll(/^(ConfigurationDirectory|EnvironmentFile)=.*\n/gm, ''));
    const { NODE_COMPILE_CACHE } = process.env;
    const cache = NODE_COMPILE_CACHE ? `Environment=NODE_COMPILE_CACHE=${NODE_COMPILE_CACHE}\n` : '';
    mkdirSync(join(UNITS, `${unit}.d`), { recursive: true });
    writeFileSync(join(UNITS, `${unit}.d/trial.conf`), `[Unit]\nConflicts=\n[Service]\nRestartSec=100ms\n${cache}`);
  }

  test('a service is active when it works', async () => {
    systemctl('start', CRI);
    systemctl('start', KUBELET);
    assert.equal(unitProperty(CRI, 'StatusText'), `serving CRI at ${endpoint}`);
    assert.match(unitProperty(KUBELET, 'StatusText'), /^node /);
    for (const name of ['a', 'b']) writeFileSync(join(manifests, `${name}.yaml`), pod(name, ['sleep', '100000']));
    await until('two containers', () => containersOf(state).length === 2);
  });

  const kinds: Record<string, (unit: string) => void | Promise<void>> = {
    'a stop and a start': (unit) => {
      systemctl('stop', unit);
      systemctl('start', unit);
    },
    'a restart': (unit) => systemctl('restart', unit),
    'a crash': async (unit) => {
      // All processes of the unit's cgroup, as systemd does by itself with the default KillMode.
      const invocation = unitProperty(unit, 'InvocationID');
      systemctl('kill', '--signal=KILL', unit);
      await until(`a new start of ${unit}`, () => isNewlyActive(unit, invocation));
    },
  };
  for (const [name, happen] of Object.entries(kinds)) {
    test(`${name} of each service, ${TRIALS} times: no container is lost`, async () => {
      const before = containersOf(state);
      assert.equal(before.length, 2);
      for (let trial = 0; trial < TRIALS; trial++) {
        for (const unit of [CRI, KUBELET]) {
          await happen(unit);
          assert.deepEqual(containersOf(state), before, `${unit}, trial ${trial + 1}`);
        }
      }
    });
  }

  test('a reload of systemd changes nothing', () => {
    const before = containersOf(state);
    systemctl('daemon-reload');
    systemctl('daemon-reexec');
    systemctl('restart', KUBELET);
    assert.deepEqual(containersOf(state), before);
  });

  test('an agent that hangs is ended by the watchdog and started again', async () => {
    writeFileSync(join(UNITS, `${KUBELET}.d/watchdog.conf`), '[Service]\nWatchdogSec=20s\n');
    systemctl('daemon-reload');
    systemctl('restart', KUBELET);
    const before = containersOf(state);
    const invocation = unitProperty(KUBELET, 'InvocationID');
    process.kill(Number(unitProperty(KUBELET, 'MainPID')), 'SIGSTOP');
    await until('the watchdog', () => isNewlyActive(KUBELET, invocation));
    const journal = execFileSync('journalctl', ['-u', KUBELET, '--no-pager'], { encoding: 'utf8' });
    assert.match(journal, /Watchdog timeout/);
    assert.deepEqual(containersOf(state), before);
  });

  test('the journal has the priorities of the lines', () => {
    const lines = execFileSync('journalctl', ['-u', CRI, '-o', 'json', '--no-pager'], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes('serving CRI'))
      .map((line) => JSON.parse(line));
    assert.equal(lines[0]?.PRIORITY, '6');
    assert.match(String(lines[0]?.MESSAGE), /^serving CRI endpoint=unix:/);
  });

  test('the standalone service stops its pods', async () => {
    for (const name of ['a', 'b']) rmSync(join(manifests, `${name}.yaml`));
    await until('no container', () => containersOf(state).length === 0);
    systemctl('stop', KUBELET);
    systemctl('stop', CRI);
    systemctl('start', ALONE); // no manifest yet
    writeFileSync(join(manifests, 'c.yaml'), pod('c', ['sleep', '100000']));
    await until('a monitor', () => monitors(state) > 0);
    systemctl('stop', ALONE);
    assert.equal(monitors(state), 0);
    assert.equal(unitProperty(ALONE, 'Result'), 'success');
  });
});

function pod(name: string, command: readonly string[]): string {
  const container = { name: 'main', image: BUSYBOX, command };
  const spec = {
    hostNetwork: true,
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 1,
    containers: [container],
  };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
}

/** The scopes of the containers of the runtime with this state folder, each with its processes. */
function containersOf(state: string): readonly string[] {
  const found = execFileSync('find', ['/sys/fs/cgroup', '-path', '*kubepods*', '-name', 'cri-nodelet-*.scope'], {
    encoding: 'utf8',
  });
  return found
    .split('\n')
    .filter((path) => existsSync(join(state, 'runtime/containers', /cri-nodelet-(\w+)\.scope$/.exec(path)?.[1] ?? '-')))
    .map((path) => `${path}: ${readFileSync(`${path}/cgroup.procs`, 'utf8').trim()}`)
    .filter((text) => !text.endsWith(': '))
    .toSorted();
}

/** The number of conmon processes of the runtime with this state folder. */
function monitors(state: string): number {
  return Number(spawnSync('pgrep', ['-cf', `^/usr/bin/conmon .*${state}`], { encoding: 'utf8' }).stdout);
}

function kubeletConfig(staticPodPath: string, containerRuntimeEndpoint: string): object {
  const access = {
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
  };
  const servers = { enableServer: false, healthzPort: 0, ...access };
  const header = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  return { ...header, staticPodPath, containerRuntimeEndpoint, cgroupDriver: 'systemd', ...servers };
}

function systemctl(...args: readonly string[]): void {
  execFileSync('systemctl', args, { stdio: 'inherit' });
}

/** It was started again since, and its start is complete. */
function isNewlyActive(unit: string, invocation: string): boolean {
  return unitProperty(unit, 'InvocationID') !== invocation && unitProperty(unit, 'ActiveState') === 'active';
}

/** Polls, because the machine is emulated; fails after ten minutes. */
async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 600_000; Date.now() < end; await delay(500)) if (isSo()) return;
  throw new Error(`no sign of: ${what}`);
}
