import { allContainers } from '../../api/all-containers.ts';
import type { AppArmorProfile, Pod } from '../../api/generated/core-v1.ts';
import { appArmorSetting, DEPRECATED_APPARMOR } from '../sync/config/security-context.ts';
import type { PodAdmitHandler } from './pod-admit-handler.ts';

/** Rejects pods whose AppArmor profiles cannot be enforced. As in kubelet, pods that run or have ended are not checked again. */
export const appArmorHandler: PodAdmitHandler = (pod, { host }) => {
  if ((pod.status?.phase ?? 'Pending') !== 'Pending') return undefined;
  const message = appArmorError(pod, host.appArmorEnabled);
  return message === undefined ? undefined : { reason: 'AppArmor', message: `Cannot enforce AppArmor: ${message}` };
};

/** kubelet's message for the first profile that cannot be enforced. */
function appArmorError(pod: Pod, isEnabled: boolean): string | undefined {
  if (!requiresAppArmor(pod)) return undefined;
  if (!isEnabled) return 'AppArmor is not enabled on the host';
  const unnamed = allContainers(pod.spec)
    .flatMap((container) => appArmorSetting(pod, container) ?? [])
    .find(({ type, localhostProfile = '' }) => type === 'Localhost' && localhostProfile.trim() === '');
  return unnamed && `invalid empty AppArmor profile name: "${formatGoProfile(unnamed)}"`;
}

function requiresAppArmor(pod: Pod): boolean {
  const fields = [pod.spec.securityContext, ...allContainers(pod.spec).map(({ securityContext }) => securityContext)];
  const profiles = fields.flatMap((context) => context?.appArmorProfile ?? []);
  if (profiles.some(({ type }) => type !== 'Unconfined')) return true;
  const annotations = Object.entries(pod.metadata.annotations ?? {});
  return annotations.some(([key, value]) => key.startsWith(DEPRECATED_APPARMOR) && value !== 'unconfined');
}

/** The profile as Go prints it. */
function formatGoProfile({ type, localhostProfile }: AppArmorProfile): string {
  const name = localhostProfile === undefined ? 'nil' : `*${localhostProfile}`;
  return `&AppArmorProfile{Type:${type},LocalhostProfile:${name},}`;
}
