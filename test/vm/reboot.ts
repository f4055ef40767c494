// `make vm-reboot`: cuts the power of a virtual machine whose pods run, boots it again, and checks what came back.
//
//   scripts/node test/vm/reboot.ts [--trials 10] [--seed 1]
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { SeededRandom } from '../../src/host/fake/seeded-random.ts';
import { withVirtualMachine } from './booted-vm.ts';
import { NODELET, prepareGuest } from './judges/guest.ts';
import type { VirtualMachine } from './virtual-machine.ts';
import { findVmFiles } from './vm-files.ts';

const { values } = parseArgs({
  options: { trials: { type: 'string', default: '10' }, seed: { type: 'string', default: '1' } },
});
const MANIFESTS = '/etc/nodelet/manifests';
const IMAGE = 'localhost/nodelet/busybox:1';
/** Under emulation. */
const READY_SECONDS = 900;
/** The power is cut within this time after the pods are ready, so that some trials hit what happens after a start. */
const LATEST_CUT_MS = 20_000;

interface Pod {
  readonly metadata: { readonly name: string };
  readonly status: { readonly phase: string; readonly containerStatuses?: readonly ContainerStatus[] };
}

interface ContainerStatus {
  readonly restartCount: number;
  readonly ready: boolean;
  readonly lastState?: { readonly terminated?: { readonly exitCode: number } };
}

const files = findVmFiles(join(import.meta.dirname, '../..'));
if (typeof files === 'string') {
  console.log(`reboot: skipped: ${files}`);
} else {
  await withVirtualMachine({ files }, async (vm) => {
    await setUp(vm);
    await expectPods(vm, 0);
    const random = new SeededRandom(Number(values.seed));
    for (let trial = 1; trial <= Number(values.trials); trial++) {
      const waited = random.fraction() * LATEST_CUT_MS;
      await delay(waited);
      await vm.cutPower();
      const bootSeconds = await vm.boot();
      await expectPods(vm, trial);
      await expectCleanStart(vm);
      const after = `${Math.round(waited / 100) / 10} s after the pods were ready`;
      console.log(`reboot: trial ${trial}: power cut ${after}; booted in ${Math.round(bootSeconds)} s; pods are back`);
    }
  });
}

/** A pod that runs for ever, and one that runs once and must not run again. */
async function setUp(vm: VirtualMachine): Promise<void> {
  await prepareGuest(vm);
  await vm.expect('echo "/dev/vdb /nodelet ext4 ro 0 0" >>/etc/fstab');
  await vm.write(`${MANIFESTS}/server.yaml`, manifest('server', 'Always', ['sleep', '100000']));
  await vm.write(`${MANIFESTS}/job.yaml`, manifest('job', 'OnFailure', ['true']));
  const unit = await vm.expect('cat /nodelet/packaging/systemd/nodelet.service');
  await vm.write('/etc/systemd/system/nodelet.service', unit.replace('/usr/bin/nodelet', NODELET));
  await vm.expect('systemctl enable --now nodelet.service && sync', READY_SECONDS);
}

function manifest(name: string, restartPolicy: string, command: readonly string[]): string {
  const spec = { hostNetwork: true, restartPolicy, containers: [{ name: 'main', image: IMAGE, command }] };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
}

/** Waits until the server is ready again. Each reboot restarted its container once; the job is not run again. */
async function expectPods(vm: VirtualMachine, restarts: number): Promise<void> {
  const pods = await untilReady(vm);
  const [server, job] = ['server', 'job'].map((name) => pods.find(({ metadata }) => metadata.name.startsWith(name)));
  const [status] = server?.status.containerStatuses ?? [];
  assert.equal(status?.restartCount, restarts, `the restart count of the server after ${restarts} reboots`);
  if (restarts > 0) assert.equal(status?.lastState?.terminated?.exitCode, 255, 'the exit code of a lost process');
  assert.equal(job?.status.phase, 'Succeeded');
  assert.equal(job?.status.containerStatuses?.[0]?.restartCount, 0, 'the restart count of the job');
}

async function untilReady(vm: VirtualMachine): Promise<readonly Pod[]> {
  let last = '';
  for (const end = Date.now() + READY_SECONDS * 1000; Date.now() < end; await delay(2000)) {
    const { code, stdout, stderr } = await vm.run(`${NODELET} ps -o json`);
    last = stdout || stderr;
    if (code !== 0) continue;
    const pods: readonly Pod[] = JSON.parse(stdout).items;
    const isReady = pods.some(({ status }) => status.containerStatuses?.[0]?.ready);
    const isDone = pods.some(({ status }) => status.phase === 'Succeeded');
    if (isReady && isDone) return pods;
  }
  throw new Error(`the pods are not ready: ${last}`);
}

/** Nothing that was half written is in the way. */
async function expectCleanStart(vm: VirtualMachine): Promise<void> {
  const errors = await vm.expect('journalctl -b -u nodelet.service -p err -o cat --no-pager');
  assert.equal(errors.replace('-- No entries --', '').trim(), '', 'errors in the log after a reboot');
}
