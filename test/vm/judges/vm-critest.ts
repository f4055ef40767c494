// `make vm-critest`: runs critest against `nodelet cri --cgroup-driver systemd` on a machine with systemd, cgroup v2 and
// AppArmor. On this machine, if it has systemd and cgroup v2; else in a virtual machine, with images from a registry of this
// machine.
//
//   scripts/node test/vm/judges/vm-critest.ts [ARGUMENT…]   those of test/critest/critest.ts
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { serveCritestImages } from '../../critest/serve-images.ts';
import { clusterToolsSkipReason } from '../../integration/cluster-tools.ts';
import { registryMissingReason } from '../../integration/registry-fixture.ts';
import { withVirtualMachine } from '../booted-vm.ts';
import { systemdSkipReason } from '../systemd-skip.ts';
import { findVmFiles, type VmFiles } from '../vm-files.ts';
import { addressInGuest, guestCommand, NODELET, prepareGuest } from './guest.ts';

const CHECKOUT = join(import.meta.dirname, '../../..');
const CRITEST = 'test/critest/critest.ts';
/** Of the whole suite, one spec after the other, under emulation. */
const SECONDS = 4 * 3600;

const args = ['--cgroup-driver', 'systemd', ...process.argv.slice(2)];
const isHere = systemdSkipReason() === false;
process.exitCode = isHere ? runHere() : await main();

function runHere(): number {
  return spawnSync('scripts/node', [CRITEST, ...args], { cwd: CHECKOUT, stdio: 'inherit' }).status ?? 1;
}

async function main(): Promise<number> {
  const files = findVmFiles(CHECKOUT);
  const unfit = typeof files === 'string' ? files : clusterToolsSkipReason('critest') || registryMissingReason();
  if (typeof files !== 'string' && unfit === false) return await runInVm(files);
  console.log(`vm-critest: skipped: ${unfit}`);
  return 0;
}

async function runInVm(files: VmFiles): Promise<number> {
  const registry = await serveCritestImages();
  try {
    return await withVirtualMachine({ files, tools: ['critest'], scripts: [CRITEST] }, async (vm) => {
      await prepareGuest(vm);
      const program = ['--nodelet', NODELET, '--logs', '/var/tmp/critest', '--serial', '--attempts', '2'];
      const command = guestCommand(CRITEST, [...program, '--registry', addressInGuest(registry), ...args]);
      const { code } = await vm.run(command, SECONDS, (text) => process.stdout.write(text));
      return code ?? 1;
    });
  } finally {
    await registry.stop();
  }
}
