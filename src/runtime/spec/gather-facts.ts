import type { FileSystem } from '../../host/file-system.ts';
import { hasHostDevices } from './devices.ts';
import { ImageAccounts } from './gather-accounts.ts';
import { gatherCdiEdits } from './gather-cdi-edits.ts';
import { allHostDevices, gatherDevices } from './gather-devices.ts';
import { gatherMountSources } from './gather-mounts.ts';
import type { AppArmor } from './load-apparmor-profile.ts';
import { loadSeccompProfile } from './load-seccomp-profile.ts';
import { checkRequest } from './request-rules.ts';
import type { SpecFacts } from './spec-facts.ts';
import type { SpecRequest } from './spec-request.ts';
import { needsAccounts } from './user.ts';

export interface FactSources {
  readonly fs: FileSystem;
  readonly cdiSpecDirs: readonly string[];
  readonly appArmor: Pick<AppArmor, 'refresh'>;
  readonly accounts: ImageAccounts;
}

/** Created once: it caches the accounts of images. */
export function createFactSources(sources: Omit<FactSources, 'accounts'>): FactSources {
  return { ...sources, accounts: new ImageAccounts(sources.fs) };
}

/** Collects everything that the specification of this container needs. Its root filesystem is mounted. */
export async function gatherFacts(request: SpecRequest, sources: FactSources): Promise<SpecFacts> {
  checkRequest(request);
  const { fs, cdiSpecDirs } = sources;
  const { container, machine } = request;
  const context = container.linux?.securityContext;
  const [accounts, mountSources, devices, hostDevices, seccomp, appArmor, cdi] = await Promise.all([
    needsAccounts(request) ? sources.accounts.get(request) : { users: [], groups: [] },
    gatherMountSources(request, fs),
    gatherDevices(request, fs),
    hasHostDevices(request) ? allHostDevices(fs) : [],
    loadSeccompProfile(context, machine, fs),
    sources.appArmor.refresh(),
    gatherCdiEdits(container, cdiSpecDirs, fs),
  ]);
  return { accounts, mountSources, devices, hostDevices, ...(seccomp && { seccomp }), appArmor, cdi };
}
