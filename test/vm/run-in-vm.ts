// `make vm`: runs test/vm/suite on a machine with systemd and cgroup v2. On this machine, if it is one; else in a virtual
// machine (scripts/vm-image.sh), which is booted from a fresh disk and ended afterwards.
//
//   scripts/node test/vm/run-in-vm.ts [FILE…]   the files of test/vm/suite to run (default: all)
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { clusterToolsSkipReason } from '../integration/cluster-tools.ts';
import { withVirtualMachine } from './booted-vm.ts';
import { systemdSkipReason } from './systemd-skip.ts';
import { findVmFiles } from './vm-files.ts';

/** For one file, under emulation. */
const FILE_SECONDS = 3600;
/** Programs start sooner the second time. The trials are those of service.test.ts. */
const ENVIRONMENT = [
  'NODE_COMPILE_CACHE=/var/cache/nodelet',
  `NODELET_VM_TRIALS=${process.env['NODELET_VM_TRIALS'] ?? ''}`,
  'NODELET_TOOLS=/tools',
].join(' ');
/** Of eviction.test.ts; it is skipped where they are not built. */
const TOOLS = ['etcd', 'kube-apiserver', 'kubectl'] as const;
const CHECKOUT = join(import.meta.dirname, '../..');

const names = process.argv.slice(2);
const files = globSync('test/vm/suite/*.test.ts', { cwd: CHECKOUT })
  .sort()
  .filter((file) => names.length === 0 || names.some((name) => basename(file).startsWith(name)));
if (files.length === 0) throw new Error(`no file of test/vm/suite begins with ${names.join(' or ')}`);

const isHere = systemdSkipReason() === false;
process.exitCode = isHere ? runHere() : await runInVm();

function runHere(): number {
  const { status } = spawnSync('scripts/node', testArguments(files), { cwd: CHECKOUT, stdio: 'inherit' });
  return status ?? 1;
}

async function runInVm(): Promise<number> {
  const found = findVmFiles(CHECKOUT);
  if (typeof found === 'string') {
    console.log(`vm: skipped: ${found}`);
    return 0;
  }
  const tools = clusterToolsSkipReason(...TOOLS) === false ? TOOLS : [];
  return await withVirtualMachine({ files: found, tools }, async (vm) => {
    let failed = 0;
    for (const file of files) {
      const command = `cd /nodelet && ${ENVIRONMENT} scripts/node ${testArguments([file]).join(' ')} 2>&1`;
      const { code } = await vm.run(command, FILE_SECONDS, (text) => process.stdout.write(text));
      if (code !== 0) failed++;
    }
    console.log(`vm: ${files.length - failed} of ${files.length} files passed`);
    return failed === 0 ? 0 : 1;
  });
}

function testArguments(files: readonly string[]): readonly string[] {
  return ['--import', './test/setup.ts', '--test', '--test-reporter=spec', '--test-concurrency=1', ...files];
}
