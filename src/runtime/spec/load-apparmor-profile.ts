import { isDeepStrictEqual } from 'node:util';
import { assertNever } from '../../base/assert-never.ts';
import { errorText } from '../../base/error-text.ts';
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
import { APPARMOR_DEFAULT, APPARMOR_INCLUDES, appArmorProfileText } from './default-apparmor-profile.ts';

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
  readonly clock: Pick<Clock, 'deadline' | 'monotonic'>;
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
/** A load that failed is not repeated for each container. */
const RETRY_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024;

/** For a kernel without AppArmor. */
export const noAppArmor: AppArmor = {
  refresh: async () => APPARMOR_DISABLED,
  byDefault: () => APPARMOR_DISABLED.byDefault,
};

/** The loaded profiles; `reason`: why ours could not be loaded. */
interface LoadResult {
  readonly loaded: ReadonlySet<string>;
  readonly reason?: string | undefined;
}

/** For a kernel with AppArmor. Containers that need the profile at the same time share one `refresh`. */
export class AppArmorLoader implements AppArmor {
  readonly #deps: AppArmorDeps;
  #byDefault: AppArmorDefault = APPARMOR_DISABLED.byDefault;
  #refreshing: Promise<AppArmorState> | undefined;
  /** The last load; `reason`: why it failed. */
  #tried: { readonly reason?: string | undefined; readonly retryAt: number } | undefined;

  constructor(deps: AppArmorDeps) {
    this.#deps = deps;
  }

  byDefault(): AppArmorDefault {
    return this.#byDefault;
  }

  refresh(): Promise<AppArmorState> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<AppArmorState> {
    const { loaded, reason } = await this.#load().catch(
      (error: unknown): LoadResult => ({ loaded: new Set(), reason: errorText(error) }),
    );
    const byDefault = chooseDefaultProfile(loaded, reason);
    if (!isDeepStrictEqual(byDefault, this.#byDefault)) logChange(byDefault, this.#deps.log);
    this.#byDefault = byDefault;
    return { loaded, byDefault };
  }

  async #load(): Promise<LoadResult> {
    const loaded = await readLoadedProfiles(this.#deps);
    const { reason, retryAt = 0 } = this.#tried ?? {};
    if (this.#tried && reason === undefined && loaded.has(APPARMOR_DEFAULT)) return { loaded };
    const now = this.#deps.clock.monotonic();
    if (reason !== undefined && now < retryAt) return { loaded, reason };
    const result = await loadDefaultProfile(loaded, this.#deps);
    this.#tried = { reason: result.reason, retryAt: now + RETRY_MS };
    return result;
  }
}

function logChange(byDefault: AppArmorDefault, log: AppArmorDeps['log']): void {
  if (byDefault.kind === 'disabled') return;
  if (byDefault.kind === 'missing') {
    log.warn('containers that specify no AppArmor profile run unconfined', { reason: byDefault.reason });
  } else if (byDefault.reason !== undefined) {
    log.warn('default AppArmor profile is not the current one', byDefault);
  } else {
    log.info('default AppArmor profile is loaded', { profile: byDefault.profile });
  }
}

async function loadDefaultProfile(loaded: ReadonlySet<string>, deps: AppArmorDeps): Promise<LoadResult> {
  const text = await profileText(deps);
  const previousText = await readIfPossible(deps.recordPath, deps.fs);
  const plan = planAppArmor({ loaded, parser: await firstExisting(PARSERS, deps), previousText, text });
  switch (plan.kind) {
    case 'keep':
      return { loaded };
    case 'impossible':
      return { loaded, reason: plan.reason };
    case 'load': {
      const reason = await runParser(plan.parser, text, deps);
      return { loaded: await readLoadedProfiles(deps), reason };
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
    return errorText(error);
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
