import type { TestRegistry } from '../../integration/registry-fixture.ts';
import { bundlePath } from '../booted-vm.ts';
import type { VirtualMachine } from '../virtual-machine.ts';

/** This machine, as the guest sees it: QEMU forwards connections to its loopback. */
const HOST = '10.0.2.2';
/** Of the guest's network device, given by QEMU. */
export const GUEST_ADDRESS = '10.0.2.15';
/** The program under test. */
export const NODELET = '/usr/local/bin/nodelet';

/** Directories on the guest's disk: its `/tmp` is in memory. */
const ENVIRONMENT = { NODELET_TOOLS: '/tools', TMPDIR: '/var/tmp', NODE_COMPILE_CACHE: '/var/cache/nodelet' };

/** Puts the programs into the guest that the suites expect in its search path. */
export async function prepareGuest(vm: VirtualMachine): Promise<void> {
  const variable = `NODE_COMPILE_CACHE=${ENVIRONMENT.NODE_COMPILE_CACHE}`;
  const nodelet = `export ${variable}\nexec /nodelet/scripts/node /nodelet/dist/nodelet.mjs "$@"`;
  await vm.write(NODELET, `#!/bin/sh\n${nodelet}\n`, '755');
  // The suites start programs by it, also as root.
  await vm.write('/usr/local/bin/sudo', '#!/bin/sh\nexec "$@"\n', '755');
}

/** A shell command that runs a bundled program of the checkout in the guest. */
export function guestCommand(script: string, args: readonly string[]): string {
  const variables = Object.entries(ENVIRONMENT).map(([name, value]) => `${name}=${value}`);
  return `cd /nodelet && ${variables.join(' ')} scripts/node ${bundlePath(script)} ${args.map(quoted).join(' ')} 2>&1`;
}

/** The address of a registry of this machine, in the guest. */
export function addressInGuest({ port }: TestRegistry): string {
  return `${HOST}:${port}`;
}

function quoted(argument: string): string {
  return `'${argument.replaceAll("'", "'\\''")}'`;
}
