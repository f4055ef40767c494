import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { NamespaceMode } from '../../src/cri/generated/runtime-v1.ts';
import type { OciSpec } from '../../src/runtime/oci/oci-spec.ts';
import { claimSubnet } from './claimed-subnet.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { type Scene, type ScenePod, settledRuntimeResources, signal, startScene, WAITS } from './runtime-pod.ts';
import { listRuntimeResources } from './runtime-resources.ts';
import { becomes } from './until.ts';

const CRUN = join(import.meta.dirname, 'bin/crun');
const HANDLER = 'own-crun';
const ANNOTATIONS = { 'example.com/profile': 'fast', 'other.com/profile': 'no', 'example.com/deep/er': 'no' };
const NOFILE = { type: 'RLIMIT_NOFILE', soft: 1234, hard: 4321 };
const PRIVILEGED = { linux: { securityContext: { privileged: true } } };

const skip =
  embeddedSkipReason() || ((!existsSync('/usr/bin/crun') || !existsSync('/usr/lib/cni/ptp')) && 'no crun or ptp');

/** Handlers of a configuration file, in one process of `nodelet cri`: crun with its own network, and runc. */
describe('nodelet cri --config', { skip }, () => {
  let scene: Scene;
  let empty: readonly string[];
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-handlers-'));
  const confDir = join(folder, 'net.d');
  const runtimeRoot = join(folder, 'crun-root');
  const { v4: subnet } = claimSubnet();

  before(async () => {
    mkdirSync(confDir);
    writeNetwork('own-network');
    writeFileSync(join(folder, 'base.json'), JSON.stringify({ process: { rlimits: [NOFILE] } }));
    writeConfig({
      [HANDLER]: {
        runtimePath: CRUN,
        runtimeRoot,
        privilegedWithoutHostDevices: true,
        podAnnotations: ['example.com/*'],
        containerAnnotations: ['device.example.com/*'],
        cniConfDir: 'net.d', // from the folder of the file
        baseRuntimeSpec: 'base.json',
      },
    });
    scene = await startScene({ flags: ['--config', join(folder, 'runtime.yaml')] });
    empty = await settledRuntimeResources(scene.runtime);
  });

  after(async () => {
    const leaks = await becomes(() => listRuntimeResources(scene.runtime), empty).catch((error: unknown) => error);
    await scene.stop();
    rmSync(folder, { recursive: true, force: true });
    assert.ifError(leaks);
  });

  function writeConfig(runtimeHandlers: object): void {
    const config = {
      apiVersion: 'runtime.nodelet.io/v1alpha1',
      kind: 'RuntimeConfiguration',
      listen: 'unix:///nowhere/overridden/by/the/flag.sock',
      verbosity: 4,
      runtimeHandlers,
    };
    writeFileSync(join(folder, 'runtime.yaml'), stringify(config));
  }

  function writeNetwork(name: string): void {
    const ipam = { type: 'host-local', dataDir: join(folder, 'ipam'), ranges: [[{ subnet }]] };
    const network = { cniVersion: '1.0.0', name, plugins: [{ type: 'ptp', ipam }] };
    writeFileSync(join(confDir, '10-own.conflist'), JSON.stringify(network));
  }

  const runPod = (runtimeHandler: string): Promise<ScenePod> =>
    scene.runPod(
      {
        annotations: ANNOTATIONS,
        linux: { securityContext: { privileged: true, namespaceOptions: { pid: NamespaceMode.POD } } },
      },
      runtimeHandler,
    );

  const specOf = (id: string): OciSpec =>
    JSON.parse(readFileSync(join(scene.runtime.folder, 'state/runtime/containers', id, 'config.json'), 'utf8'));

  const addressOf = async (podSandboxId: string): Promise<string> =>
    (await scene.cri.runtime.podSandboxStatus({ podSandboxId, verbose: false }, signal)).status?.network?.ip ?? '';

  const isInOwnNetwork = (address: string): boolean => address.startsWith(subnet.replace(/0\/24$/, ''));

  const addressesInUse = (network: string): string[] =>
    readdirSync(join(folder, 'ipam', network)).filter((name) => /^\d/.test(name));

  const exampleAnnotations = ({ annotations }: OciSpec): Record<string, string> =>
    Object.fromEntries(Object.entries(annotations).filter(([name]) => name.includes('.com/')));

  test('Status lists the handlers with their features and settings', async () => {
    const { runtimeHandlers, info } = await scene.cri.runtime.status({ verbose: true }, signal);
    const own = runtimeHandlers.find(({ name }) => name === HANDLER);
    assert.deepEqual(own?.features, { recursiveReadOnlyMounts: true, userNamespaces: true });
    assert.ok(runtimeHandlers.some(({ name }) => name === 'runc'));
    const shown: { name: string; settings: unknown }[] = JSON.parse(info['runtimeHandlers'] ?? '[]');
    assert.deepEqual(shown.find(({ name }) => name === HANDLER)?.settings, {
      program: CRUN,
      runtimeRoot,
      cgroupWritable: false,
      privilegedDevices: 'requested',
      podAnnotations: ['example.com/*'],
      containerAnnotations: ['device.example.com/*'],
      network: { confDir },
      baseSpec: { rlimits: [NOFILE], env: [], annotations: {} },
    });
    assert.deepEqual(JSON.parse(info['handlerNetworks'] ?? '{}'), {
      [HANDLER]: { ready: true, networks: ['own-network'] },
    });
  });

  test('a pod of a handler has its program, network, devices and annotations, also after a restart', async () => {
    const pod = await runPod(HANDLER);
    const address = await addressOf(pod.id);
    assert.ok(isInOwnNetwork(address), address);
    const annotations = { 'device.example.com/gpu': '0', 'example.com/of-container': 'no' };
    const id = await pod.startReady(WAITS, { ...PRIVILEGED, annotations });
    assert.deepEqual(exampleAnnotations(specOf(pod.id)), { 'example.com/profile': 'fast' });
    assert.deepEqual(exampleAnnotations(specOf(id)), { 'example.com/profile': 'fast', 'device.example.com/gpu': '0' });
    assert.deepEqual(new Set(readdirSync(runtimeRoot)), new Set([id, pod.id]));
    assert.match(readFileSync(`/proc/${await scene.pid(id)}/limits`, 'utf8'), /Max open files +1234 +4321/);
    assert.equal(await scene.ask(id, 'ulimit -Sn; ulimit -Hn'), '1234\n4321');
    // The devices of any container, and no access to others: 1:2 is /dev/mem.
    assert.deepEqual(specOf(id).linux.devices, []);
    assert.equal(
      await scene.ask(id, 'mknod /dev/mem2 c 1 2 2>/dev/null && head -c1 /dev/mem2 >/dev/null || echo no'),
      'no',
    );

    await scene.runtime.restart();
    assert.equal(await scene.ask(id, 'echo alive'), 'alive');
    assert.deepEqual(addressesInUse('own-network'), [address]);
    await pod.remove();
    assert.deepEqual(addressesInUse('own-network'), []);
    assert.deepEqual(readdirSync(runtimeRoot), []);
  });

  test('a pod of another handler has none of it', async () => {
    const pod = await runPod('runc');
    assert.ok(!isInOwnNetwork(await addressOf(pod.id)));
    const id = await pod.startReady(WAITS, { ...PRIVILEGED, annotations: { 'device.example.com/gpu': '0' } });
    assert.deepEqual(exampleAnnotations(specOf(pod.id)), {});
    assert.deepEqual(exampleAnnotations(specOf(id)), {});
    assert.ok(specOf(id).linux.devices.length > 0);
    await pod.remove();
  });

  test('an unknown handler is refused', async () => {
    await assert.rejects(runPod('absent'), /no runtime for "absent" is configured/);
  });

  test('a changed network configuration of a handler is used for its next pod', async () => {
    writeNetwork('renamed');
    await becomes(async () => {
      const { info } = await scene.cri.runtime.status({ verbose: true }, signal);
      return JSON.parse(info['handlerNetworks'] ?? '{}')[HANDLER].networks;
    }, ['renamed']);
    const pod = await runPod(HANDLER);
    assert.equal(addressesInUse('renamed').length, 1);
    await pod.remove();
    assert.deepEqual(addressesInUse('renamed'), []);
  });

  test('a pod of a handler that was removed from the file keeps its runtime and its network', async () => {
    const pod = await runPod(HANDLER);
    const id = await pod.startReady(WAITS);
    writeConfig({});
    await scene.runtime.restart();
    await assert.rejects(runPod(HANDLER), /no runtime for "own-crun" is configured/);
    assert.equal(await scene.ask(id, 'echo alive'), 'alive');
    assert.deepEqual(new Set(readdirSync(runtimeRoot)), new Set([id, pod.id]));
    const { exitCode } = await scene.stopContainer(id, 10n);
    assert.equal(exitCode, 143);
    await pod.remove();
    assert.deepEqual(readdirSync(runtimeRoot), []);
    assert.deepEqual(addressesInUse('renamed'), []);
  });
});
