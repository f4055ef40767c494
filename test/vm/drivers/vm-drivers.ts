// `make vm-drivers`: kubelet and Nodelet with both cgroup drivers, in the virtual machine: how long the start and the stop of
// a pod take, and whether each takes over the pods of the other.
//
//   scripts/node test/vm/drivers/vm-drivers.ts [--rounds 5]
import { join } from 'node:path';
import { clusterToolsSkipReason } from '../../integration/cluster-tools.ts';
import { withVirtualMachine } from '../booted-vm.ts';
import { guestCommand, prepareGuest } from '../judges/guest.ts';
import { findVmFiles } from '../vm-files.ts';

const SECONDS = 2 * 3600;
const SCRIPT = 'test/vm/drivers/measure-drivers.ts';

const files = findVmFiles(join(import.meta.dirname, '../../..'));
const unfit = typeof files === 'string' ? files : clusterToolsSkipReason('kubelet');
if (typeof files === 'string' || unfit) {
  console.log(`vm-drivers: skipped: ${unfit}`);
} else {
  process.exitCode = await withVirtualMachine({ files, tools: ['kubelet'], scripts: [SCRIPT] }, async (vm) => {
    await prepareGuest(vm);
    const command = guestCommand(SCRIPT, process.argv.slice(2));
    const { code } = await vm.run(command, SECONDS, (text) => process.stdout.write(text));
    return code ?? 1;
  });
}
