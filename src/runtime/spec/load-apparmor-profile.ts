import { isDeepStrictEqual } from 'node:util';
import { assertNever } from '../../base/assert-never.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { Processes } from '../../host/processes.ts';
import {
  APPARMOR_DISABLED,
  type AppArmorDefault,
  type AppArmorState,
  chooseDefaultProfile,
  planAppArmor,
} from './apparmor-default.ts';
import { APPARMOR_INCLUDES, appArmorProfileText } from './default-apparmor-profile.ts';

/** Keeps the default AppArmor profile loaded. */
export interface AppArmor {
  /** Reads the loaded profiles, and loads ours if necessary: `aa-remove-unknown` unloads it. Never rejects. */
  refresh(): Promise<AppArmorState>;
  /** The result of the last `refresh`. */
  byDefault(): AppArmorDefault;
}

export interface AppArmorDeps {
  readonly fs: Pick<FileSystem, 'readText' | 'stat' | 'writeReplacing'>;
  readonly processes: Pick<Processes, 'run'>;
  readonly clock: Pick<Clock, 'deadline'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Stores the profile as it was loaded. Cleared by a reboot, as is the kernel's. */
  readonly recordPath: string;
  /** Other roots are for tests. */
  readonly machineRoot?: string;
}

const PROFILES = '/sys/kernel/security/apparmor/profiles';
const POLICY = '/etc/apparmor.d';
const PARSERS = ['/sbin/apparmor_parser', '/usr/sbin/apparmor_parser'];
/** The first is missing on older kernels; the second may be another security module's. */
const OWN_PROFILE = ['/proc/self/attr/apparmor/current', '/proc/self/attr/current'];
const PARSER_TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 64 * 1024;

/** For a kernel without AppArmor. */
export const noAppArmor: AppArmor = {
  refresh: async () => APPARMOR_DISABLED,
  byDefault: () => APPARMOR_DISABLED.byDefault,
};

/** For a kernel with AppArmor. Containers that need the profile at the same time share one `refresh`. */
export function createAppArmor(deps: AppArmorDeps): AppArmor {
  let last: AppArmorDefault = APPARMOR_DISABLED.byDefault;
  let refreshing: Promise<AppArmorState> | undefined;
  const refresh = async (): Promise<AppArmorState> => {
    const state = await readState(last, deps);
    if (!isDeepStrictEqual(state.byDefault, last)) logChange(state.byDefault, deps.log);
    last = state.byDefault;
    return state;
  };
  return {
    refresh: () => {
      refreshing ??= refresh().finally(() => {
        refreshing = undefined;
      });
      return refreshing;
    },
    byDefault: () => last,
  };
}

function logChange(byDefault: AppArmorDefault, log: AppArmorDeps['log']): void {
  if (byDefault.kind === 'disabled') return;
  if (byDefault.kind === 'missing') {
    log.warn('containers that specify no AppArmor profile run unconfined', { reason: byDefault.problem });
  } else if (byDefault.problem !== undefined) {
    log.warn('not the current AppArmor profile', { profile: byDefault.profile, reason: byDefault.problem });
  } else {
    log.info('default AppArmor profile is loaded', { profile: byDefault.profile });
  }
}

async function readState(last: AppArmorDefault, deps: AppArmorDeps): Promise<AppArmorState> {
  try {
    const loaded = await readLoadedProfiles(deps);
    const isUnchanged = last.kind === 'applied' && last.problem === undefined && loaded.has(last.profile);
    return isUnchanged ? { loaded, byDefault: last } : await loadDefaultProfile(loaded, deps);
  } catch (error) {
    const loaded = new Set<string>();
    return { loaded, byDefault: chooseDefaultProfile(loaded, reasonOf(error)) };
  }
}

async function loadDefaultProfile(loaded: ReadonlySet<string>, deps: AppArmorDeps): Promise<AppArmorState> {
  const text = await profileText(deps);
  const previousText = await readIfPossible(deps.recordPath, deps.fs);
  const plan = planAppArmor({ loaded, parser: await firstExisting(PARSERS, deps), previousText, text });
  switch (plan.kind) {
    case 'keep':
      return { loaded, byDefault: chooseDefaultProfile(loaded) };
    case 'impossible':
      return { loaded, byDefault: chooseDefaultProfile(loaded, plan.problem) };
    case 'load': {
      const problem = await runParser(plan.parser, text, deps);
      const after = await readLoadedProfiles(deps);
      return { loaded: after, byDefault: chooseDefaultProfile(after, problem) };
    }
    default:
      return assertNever(plan);
  }
}

/** Returns the reason if the profile is not loaded. */
async function runParser(
  parser: string,
  text: string,
  { processes, clock, fs, recordPath, log }: AppArmorDeps,
): Promise<string | undefined> {
  const command = { program: parser, args: ['-Kr'], input: text, maxOutputBytes: MAX_OUTPUT_BYTES };
  try {
    const { exitCode, stderr } = await processes.run(command, clock.deadline(PARSER_TIMEOUT_MS));
    const words = new TextDecoder().decode(stderr).trim();
    if (exitCode !== 0) return `${parser} ended with exit code ${exitCode}: ${words}`;
  } catch (error) {
    return reasonOf(error);
  }
  try {
    await fs.writeReplacing(recordPath, text, { mode: 0o600 });
  } catch (error) {
    log.warn('cannot record the AppArmor profile; a later version does not replace it', { error });
  }
  return undefined;
}

/** Parses lines like `docker-default (enforce)`. */
async function readLoadedProfiles({ fs, machineRoot = '' }: AppArmorDeps): Promise<ReadonlySet<string>> {
  const path = `${machineRoot}${PROFILES}`;
  if ((await fs.stat(path)) === undefined) {
    throw new Error(`${path} does not exist: mount securityfs at /sys/kernel/security`);
  }
  const names = (await fs.readText(path)).split('\n').map((line) => line.replace(/ \([^)]*\)$/, ''));
  return new Set(names.filter((name) => name !== ''));
}

async function profileText(deps: AppArmorDeps): Promise<string> {
  const { fs, machineRoot = '' } = deps;
  const includes = new Set<string>();
  for (const name of APPARMOR_INCLUDES) {
    if ((await fs.stat(`${machineRoot}${POLICY}/${name}`)) !== undefined) includes.add(name);
  }
  return appArmorProfileText({ includes, ownProfile: await readOwnProfile(deps) });
}

/** `unconfined` also for names that a profile would have to quote. */
async function readOwnProfile(deps: AppArmorDeps): Promise<string> {
  const path = await firstExisting(OWN_PROFILE, deps);
  const label = path === undefined ? '' : await readIfPossible(path, deps.fs);
  return /^([\w./+-]+)(?: \(\w+\))?\n?$/.exec(label ?? '')?.[1] ?? 'unconfined';
}

async function firstExisting(
  paths: readonly string[],
  { fs, machineRoot = '' }: AppArmorDeps,
): Promise<string | undefined> {
  for (const path of paths) {
    if ((await fs.stat(`${machineRoot}${path}`)) !== undefined) return `${machineRoot}${path}`;
  }
  return undefined;
}

/** A file of /proc may exist and not be readable: `EINVAL` if no security module answers. */
async function readIfPossible(path: string, fs: AppArmorDeps['fs']): Promise<string | undefined> {
  try {
    return await fs.readText(path);
  } catch (error) {
    if (error instanceof FileSystemError) return undefined;
    throw error;
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
