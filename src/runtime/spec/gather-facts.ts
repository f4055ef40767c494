import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { RuntimeSettings } from '../settings/runtime-settings.ts';
import { ImageAccounts } from './gather-accounts.ts';
import { gatherCdiEdits } from './gather-cdi-edits.ts';
import { allHostDevices, gatherDevices } from './gather-devices.ts';
import { gatherMountSources } from './gather-mounts.ts';
import { loadSeccompProfile } from './load-seccomp-profile.ts';
import { checkRequest } from './request-rules.ts';
import type { SpecFacts } from './spec-facts.ts';
import type { SpecRequest } from './spec-request.ts';
import { needsAccounts } from './user.ts';

const APPARMOR_PROFILES = '/sys/kernel/security/apparmor/profiles';

export interface FactSources {
  readonly fs: FileSystem;
  readonly cdiSpecDirs: readonly string[];
  readonly accounts: ImageAccounts;
}

/** Created once: it caches the accounts of images. */
export function createFactSources({ cdiSpecDirs }: Pick<RuntimeSettings, 'cdiSpecDirs'>, fs: FileSystem): FactSources {
  return { fs, cdiSpecDirs, accounts: new ImageAccounts(fs) };
}

/** Collects everything that the specification of this container needs. Its root filesystem is mounted. */
export async function gatherFacts(request: SpecRequest, sources: FactSources): Promise<SpecFacts> {
  checkRequest(request);
  const { fs, cdiSpecDirs } = sources;
  const { container, machine } = request;
  const context = container.linux?.securityContext;
  const [accounts, mountSources, devices, hostDevices, seccomp, appArmorProfiles, cdi] = await Promise.all([
    needsAccounts(request) ? sources.accounts.get(request) : { users: [], groups: [] },
    gatherMountSources(request, fs),
    gatherDevices(request, fs),
    context?.privileged ? allHostDevices(fs) : [],
    loadSeccompProfile(context, machine, fs),
    machine.appArmor ? loadedAppArmorProfiles(fs) : new Set<string>(),
    gatherCdiEdits(container, cdiSpecDirs, fs),
  ]);
  return { accounts, mountSources, devices, hostDevices, ...(seccomp && { seccomp }), appArmorProfiles, cdi };
}

/** Parses lines like `docker-default (enforce)`. */
async function loadedAppArmorProfiles(fs: FileSystem): Promise<ReadonlySet<string>> {
  try {
    const lines = (await fs.readText(APPARMOR_PROFILES)).split('\n');
    return new Set(lines.map((line) => line.replace(/ \([^)]*\)$/, '')).filter((name) => name !== ''));
  } catch (error) {
    if (error instanceof FileSystemError) return new Set();
    throw error;
  }
}
