import type { Container, Pod } from '../../src/api/generated/core-v1.ts';
import type { CriCode } from '../../src/cri/cri-error.ts';
import type { CsiMethod } from '../../src/plugins/fake/fake-csi-driver.ts';
import { Draw } from './draw.ts';

/** The claims of each namespace. Pods share them. */
export const DISKS: readonly [string, ...string[]] = ['disk-0', 'disk-1', 'disk-2'];
export const CSI_DRIVER = 'disks.example.com';
export const DISK_VOLUME = 'disk';

/** A fault of the CSI driver. */
export type DiskFault =
  | {
      readonly kind: 'csi';
      readonly method: CsiMethod;
      readonly fault:
        | { readonly kind: 'error'; readonly code: CriCode; readonly when: 'before' | 'after' }
        | { readonly kind: 'hang'; readonly when: 'before' | 'after' };
    }
  /** The driver is not registered for `ms`. */
  | { readonly kind: 'csiAway'; readonly ms: number };

/** Some pods of the API server have a claim, which all their main containers mount. Edits of a pod keep it. */
export function withDisk(seed: number, pod: Pod): Pod {
  const draw = new Draw(seed, `disk ${pod.metadata.uid}`);
  if (!draw.chance(0.3)) return pod;
  const { spec } = pod;
  const mount = { name: DISK_VOLUME, mountPath: '/disk' };
  const mounted = (each: Container): Container => ({ ...each, volumeMounts: [...(each.volumeMounts ?? []), mount] });
  const claim = { claimName: draw.pick(DISKS), readOnly: draw.chance(0.2) };
  const volumes = [...(spec.volumes ?? []), { name: DISK_VOLUME, persistentVolumeClaim: claim }];
  return { ...pod, spec: { ...spec, containers: spec.containers.map(mounted), volumes } };
}

const METHODS: readonly [CsiMethod, ...CsiMethod[]] = [
  'NodeStageVolume',
  'NodeStageVolume',
  'NodePublishVolume',
  'NodePublishVolume',
  'NodeUnpublishVolume',
  'NodeUnpublishVolume',
  'NodeUnstageVolume',
];
const CODES: readonly [CriCode, ...CriCode[]] = ['Internal', 'Unavailable', 'DeadlineExceeded', 'Aborted', 'Unknown'];

export function drawDiskFaults(draw: Draw, untilMs: number): (DiskFault & { readonly at: number })[] {
  const at = (): number => draw.int(0, untilMs);
  return [
    ...draw.several(0, 12, () => {
      const when = draw.pick(['before', 'after'] as const);
      const fault = draw.chance(0.2)
        ? ({ kind: 'hang', when } as const)
        : ({ kind: 'error', code: draw.pick(CODES), when } as const);
      return { at: at(), kind: 'csi', method: draw.pick(METHODS), fault } as const;
    }),
    ...draw.several(0, 2, () => ({ at: at(), kind: 'csiAway', ms: draw.int(1_000, 300_000) }) as const),
  ];
}
