import { byCodePoint } from '../../../base/code-point-order.ts';

const UNSPECIFIED = 'UNSPECIFIED';

/** The volume id of Amazon EBS: `vol-1` of `aws://zone/vol-1`, `aws:///vol-1` or `vol-1`. */
export function ebsVolumeId(id: string): string {
  if (!id.startsWith('aws://')) return id;
  const path = id.slice('aws://'.length).replace(/^[^/]*/, '');
  const volumeId = path.replace(/^\/+|\/+$/g, '');
  if (!/^vol-[^/]*$/.test(volumeId)) {
    throw new Error(`failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (${id})`);
  }
  return volumeId;
}

/** The driver completes the project from the node that it runs on. */
export function gceVolumeHandle(disk: string, labels: Readonly<Record<string, string>> = {}): string {
  const label = labels['failure-domain.beta.kubernetes.io/zone'] || labels['topology.kubernetes.io/zone'] || '';
  const zones = label.split('__');
  const place = zones.length > 1 ? `regions/${gceRegion(zones)}` : `zones/${zones[0] || UNSPECIFIED}`;
  return `projects/${UNSPECIFIED}/${place}/disks/${disk}`;
}

function gceRegion(zones: readonly string[]): string {
  const regions = new Set(
    zones.map((zone) => {
      const parts = zone.split('-');
      if (parts.length === 3) return parts.slice(0, 2).join('-');
      throw new Error(
        `failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: ${zone}`,
      );
    }),
  );
  const [region, ...others] = regions;
  if (region !== undefined && others.length === 0) return region;
  const got = [...regions].toSorted(byCodePoint).map((each) => `${each}:{}`);
  throw new Error(
    `failed to get region from zones: multiple or no regions gotten from zones, got: map[${got.join(' ')}]`,
  );
}

/** The storage account that a secret of Azure is named after; the whole name if it has another form. */
export function storageAccountOf(secretName: string): string {
  return /azure-storage-account-(.+)-secret/.exec(secretName)?.[1] ?? secretName;
}
