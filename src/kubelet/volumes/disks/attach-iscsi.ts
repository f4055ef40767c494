import { byCodePoint } from '../../../base/code-point-order.ts';
import type { Clock } from '../../../host/clock.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import type { Processes } from '../../../host/processes.ts';
import { CausedError } from '../../pod/pod-cause.ts';
import { exitText, type ProgramResult, runProgram } from '../mount-helper/run-program.ts';
import { hostsOfTarget, multipathDevice } from './block-sysfs.ts';
import { devicePattern, type IscsiDisk, interfaceSettings, transportOf } from './iscsi-disk.ts';
import { untilFound } from './until-found.ts';

const LINKS = '/dev/disk/by-path';
const DEVICE_MS = 30_000;
const MULTIPATH_MS = 10_000;
/** kubelet's limits for disks with several portals. */
const MOST_ATTEMPTS = 5;
const ENOUGH_ATTEMPTS = 2;
const ENOUGH_PATHS = 2;
/** iscsiadm(8): a session uses the interface. */
const SESSION_EXISTS = 15;

const DISCOVERY_KEYS = ['username', 'password', 'username_in', 'password_in'].map(
  (key) => `discovery.sendtargets.auth.${key}`,
);
const SESSION_KEYS = ['username', 'password', 'username_in', 'password_in'].map((key) => `node.session.auth.${key}`);

export interface IscsiDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly processes: Processes;
}

/** The login to a target. Values of the Secret are never part of a message. */
export interface IscsiLogin {
  readonly discovery: boolean;
  readonly session: boolean;
  readonly secret: ReadonlyMap<string, string>;
}

/** Logs in to the target over each portal, as far as needed, and returns the path of the disk's device. */
export async function attachIscsiDisk(
  disk: IscsiDisk,
  login: IscsiLogin,
  deps: IscsiDeps,
  signal: AbortSignal,
): Promise<string> {
  const shown = await iscsiadm(['-m', 'iface', '-I', disk.InitIface, '-o', 'show'], deps, signal);
  if (shown.exitCode !== 0) {
    throw new Error(`iscsi: could not read iface ${disk.InitIface} error: ${shown.output.trim()} (${exitText(shown)})`);
  }
  const transport = transportOf(shown.output);
  if (transport === undefined) throw new Error(`could not parse iface file for ${disk.Iface}`);
  if (disk.InitiatorName !== '') await copyInterface(disk, shown.output, deps, signal);
  const links = await attachPortals(disk, login, transport, deps, signal);
  const paths = links.map((link) => `${LINKS}/${link}`);
  const findMap = async (): Promise<string | undefined> => {
    for (const path of paths) {
      const device = await multipathDevice(path, deps.fs).catch(() => undefined); // the link was removed
      if (device !== undefined) return device;
    }
    return undefined;
  };
  const wait = { folder: '/dev', withinMs: MULTIPATH_MS };
  const map = disk.Portals.length > 1 ? await untilFound(findMap, wait, deps, signal) : await findMap();
  return map ?? paths[0] ?? '';
}

/** Returns the links of all paths that were found: at least one. */
async function attachPortals(
  disk: IscsiDisk,
  login: IscsiLogin,
  transport: string,
  deps: IscsiDeps,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const links = new Map<string, string>();
  let lastError: unknown;
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    for (const portal of disk.Portals.filter((each) => !links.has(each))) {
      try {
        links.set(portal, await attachPortal(portal, disk, login, transport, deps, signal));
      } catch (error) {
        signal.throwIfAborted();
        lastError = error;
      }
    }
    if (links.size === 0) break;
    if (links.size === disk.Portals.length) break;
    if (links.size >= ENOUGH_PATHS && attempt >= ENOUGH_ATTEMPTS) break;
  }
  if (links.size > 0) return [...links.values()];
  if (disk.InitiatorName !== '') await iscsiadm(['-m', 'iface', '-I', disk.Iface, '-o', 'delete'], deps, signal);
  const text = lastError instanceof Error ? lastError.message : '';
  throw new CausedError(`failed to get any path for iscsi disk, last err seen:\n${text}`, undefined, {
    cause: lastError,
  });
}

async function attachPortal(
  portal: string,
  disk: IscsiDisk,
  login: IscsiLogin,
  transport: string,
  deps: IscsiDeps,
  signal: AbortSignal,
): Promise<string> {
  const { fs } = deps;
  let host = (await hostsOfTarget(disk.Iqn, fs)).get(portal);
  if (host === undefined) {
    await logIn(portal, disk, login, deps, signal);
    host = (await hostsOfTarget(disk.Iqn, fs)).get(portal);
  }
  if (host === undefined) throw new Error(`Could not get SCSI host number for portal ${portal} after logging in`);
  // Only this LUN: the kernel must not know others, which may be removed at any time.
  await fs.writeFile(`/sys/class/scsi_host/host${host}/scan`, `0 0 ${disk.Lun}`);
  const pattern = devicePattern(portal, disk, transport);
  const find = async (): Promise<string | undefined> => {
    if (!(await fs.lstat(LINKS))) return undefined;
    return (await fs.readDirectory(LINKS)).find(({ name }) => pattern.test(name))?.name;
  };
  const link = await untilFound(find, { folder: LINKS, withinMs: DEVICE_MS }, deps, signal);
  if (link !== undefined) return link;
  const path = `${LINKS}/ip-${portal.replaceAll(/[[\]]/g, '')}-iscsi-${disk.Iqn}-lun-${disk.Lun}`;
  throw new Error(`Timed out waiting for device at path ${path} after ${DEVICE_MS / 1000}s`);
}

async function logIn(
  portal: string,
  { Iqn, Iface }: IscsiDisk,
  login: IscsiLogin,
  deps: IscsiDeps,
  signal: AbortSignal,
): Promise<void> {
  const run = (...args: string[]): Promise<ProgramResult> => iscsiadm(args, deps, signal);
  const discovery = ['-m', 'discoverydb', '-t', 'sendtargets', '-p', portal, '-I', Iface];
  const node = ['-m', 'node', '-p', portal, '-T', Iqn, '-I', Iface];
  await run(...discovery, '-o', 'new');
  if (login.discovery) {
    await setLogin(discovery, 'discovery.sendtargets.auth.authmethod', DISCOVERY_KEYS, login, run);
  }
  const discovered = await run(...discovery, '--discover');
  if (discovered.exitCode !== 0) {
    await run(...discovery, '-o', 'delete');
    const text = `${discovered.output.trim()}, err ${exitText(discovered)}`;
    throw new Error(`iscsi: failed to sendtargets to portal ${portal} output: ${text}`);
  }
  // Not supported by old versions of iscsiadm, which scan all LUNs.
  await run(...node, '-o', 'update', '-n', 'node.session.scan', '-v', 'manual');
  if (login.session) await setLogin(node, 'node.session.auth.authmethod', SESSION_KEYS, login, run);
  const loggedIn = await run(...node, '--login');
  if (loggedIn.exitCode !== 0) {
    await run('-m', 'node', '-p', portal, '-I', Iface, '-T', Iqn, '-o', 'delete');
    throw new Error(`iscsi: failed to attach disk: Error: ${loggedIn.output.trim()} (${exitText(loggedIn)})`);
  }
  // The machine must not wait for the target when it starts.
  await run('-m', 'node', '-p', portal, '-T', Iqn, '-o', 'update', '-n', 'node.startup', '-v', 'manual');
}

async function setLogin(
  record: readonly string[],
  method: string,
  keys: readonly string[],
  { secret }: IscsiLogin,
  run: (...args: string[]) => Promise<ProgramResult>,
): Promise<void> {
  const values = keys.flatMap((key) => (secret.get(key) ? [[key, secret.get(key) ?? ''] as const] : []));
  for (const [key, value] of [[method, 'CHAP'] as const, ...values]) {
    const result = await run(...record, '-o', 'update', '-n', key, '-v', value);
    if (result.exitCode !== 0) throw new Error(`iscsi: failed to update key "${key}" error: ${result.output.trim()}`);
  }
}

/** Creates the interface of a volume with its own initiator name. */
async function copyInterface(disk: IscsiDisk, shown: string, deps: IscsiDeps, signal: AbortSignal): Promise<void> {
  if (disk.InitIface === disk.Iface) throw new Error(`iscsi: cannot clone iface with same name: ${disk.InitIface}`);
  const iface = ['-m', 'iface', '-I', disk.Iface];
  const created = await iscsiadm([...iface, '-o', 'new'], deps, signal);
  if (created.exitCode !== 0 && created.exitCode !== SESSION_EXISTS) {
    throw new Error(`iscsi: failed to create new iface: ${created.output.trim()} (${exitText(created)})`);
  }
  const settings = new Map([...interfaceSettings(shown), ['iface.initiatorname', disk.InitiatorName] as const]);
  for (const [name, value] of [...settings].sort(([a], [b]) => byCodePoint(a, b))) {
    const result = await iscsiadm([...iface, '-o', 'update', '-n', name, '-v', value], deps, signal);
    if (result.exitCode === 0) continue;
    await iscsiadm([...iface, '-o', 'delete'], deps, signal);
    throw new Error(`iscsi: failed to update iface records: ${result.output.trim()} (${exitText(result)})`);
  }
}

export function iscsiadm(
  args: readonly string[],
  { processes }: IscsiDeps,
  signal: AbortSignal,
): Promise<ProgramResult> {
  return runProgram(processes, 'iscsiadm', args, signal);
}
