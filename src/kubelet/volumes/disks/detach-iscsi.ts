import { exitText, ProgramError, runProgram } from '../mount-helper/run-program.ts';
import { type IscsiDeps, iscsiadm } from './attach-iscsi.ts';
import { deleteDisk, disksOfLun, hostsOfTarget, multipathDevice } from './block-sysfs.ts';
import type { IscsiDisk } from './iscsi-disk.ts';

/** iscsiadm(8): there is no such session, or no such record. */
const ALREADY_GONE = [2, 21];

/** Removes the devices of a disk from the kernel. A failure is not an error: a logout removes them too. */
export async function deleteIscsiDevices({ Iqn, Lun }: IscsiDisk, deps: IscsiDeps, signal: AbortSignal): Promise<void> {
  const disks = await disksOfLun(Iqn, Lun, deps.fs);
  const maps = await Promise.all(disks.map((name) => multipathDevice(`/dev/${name}`, deps.fs).catch(() => undefined)));
  for (const map of new Set(maps.filter((each) => each !== undefined))) {
    await runProgram(deps.processes, 'multipath', ['-f', map], signal).catch(() => signal.throwIfAborted());
  }
  for (const name of disks) await deleteDisk(name, deps.fs);
}

/** Logs out from all portals of the target, and removes the records of the login. */
export async function logOut(
  { Portals, Iqn, Iface, InitiatorName, VolName }: IscsiDisk,
  deps: IscsiDeps,
  signal: AbortSignal,
): Promise<void> {
  const isLoggedIn = (await hostsOfTarget(Iqn, deps.fs)).size > 0;
  const run = async (...args: string[]): Promise<void> => {
    const result = await iscsiadm(args, deps, signal).catch((error: unknown) => {
      // Without the program there was no login.
      if (error instanceof ProgramError && !isLoggedIn) return { exitCode: 0, output: '' };
      throw error;
    });
    if (result.exitCode === 0 || ALREADY_GONE.includes(result.exitCode)) return;
    throw new Error(`failed to finish detachISCSIDisk, err: ${exitText(result)}: ${result.output.trim()}`);
  };
  for (const portal of new Set(Portals)) {
    await run('-m', 'node', '-p', portal, '-T', Iqn, '--logout', '-I', Iface);
    await run('-m', 'node', '-p', portal, '-T', Iqn, '-o', 'delete', '-I', Iface);
  }
  if (InitiatorName !== '' && Iface === `${Portals[0]}:${VolName}`)
    await run('-m', 'iface', '-I', Iface, '-o', 'delete');
}
