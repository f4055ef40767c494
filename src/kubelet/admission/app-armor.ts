import { allContainers } from '../../api/all-containers.ts';
import type { AppArmorProfile, Pod } from '../../api/generated/core-v1.ts';
import { appArmorSetting, DEPRECATED_APPARMOR } from '../sync/config/security-context.ts';

/** Why the pod cannot have the AppArmor profiles that it asks for, in kubelet's words; `undefined` when it can. */
export function appArmorTrouble(pod: Pod, isEnabled: boolean): string | undefined {
  if (!isRequired(pod)) return undefined;
  if (!isEnabled) return 'AppArmor is not enabled on the host';
  const nameless = allContainers(pod.spec)
    .flatMap((container) => appArmorSetting(pod, container) ?? [])
    .find(({ type, localhostProfile = '' }) => type === 'Localhost' && localhostProfile.trim() === '');
  return nameless && `invalid empty AppArmor profile name: "${goText(nameless)}"`;
}

function isRequired(pod: Pod): boolean {
  const fields = [pod.spec.securityContext, ...allContainers(pod.spec).map(({ securityContext }) => securityContext)];
  const profiles = fields.flatMap((context) => context?.appArmorProfile ?? []);
  if (profiles.some(({ type }) => type !== 'Unconfined')) return true;
  const annotations = Object.entries(pod.metadata.annotations ?? {});
  return annotations.some(([key, value]) => key.startsWith(DEPRECATED_APPARMOR) && value !== 'unconfined');
}

/** As Go prints one. */
function goText({ type, localhostProfile }: AppArmorProfile): string {
  const name = localhostProfile === undefined ? 'nil' : `*${localhostProfile}`;
  return `&AppArmorProfile{Type:${type},LocalhostProfile:${name},}`;
}
