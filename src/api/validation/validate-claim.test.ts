import type { PersistentVolumeClaimTemplate } from '../generated/core-v1.ts';
import { NOT_A_LABEL, NOT_A_SUBDOMAIN, type Rejections, testRejections } from '../testing/validation-errors-of.ts';

const AT = 'spec.volumes[0].ephemeral.volumeClaimTemplate';

/** A volume with a good template, except for these members. */
function volumeWith(spec: Partial<PersistentVolumeClaimTemplate['spec']>, metadata?: object) {
  const good = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  return {
    volume: { ephemeral: { volumeClaimTemplate: { ...(metadata && { metadata }), spec: { ...good, ...spec } } } },
  };
}

const refused: Rejections = {
  'a claim without access modes and a size': {
    change: volumeWith({ accessModes: [], resources: {} }),
    says: [
      `${AT}.spec.accessModes: Required value: at least 1 access mode is required`,
      `${AT}.spec.resources[storage]: Required value`,
    ],
  },
  'a claim with unknown modes': {
    change: volumeWith({ accessModes: ['ReadWrite'], volumeMode: 'Raw' }),
    says: [
      `${AT}.spec.accessModes: Unsupported value: "ReadWrite": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`,
      `${AT}.spec.volumeMode: Unsupported value: "Raw": supported values: "Block", "Filesystem"`,
    ],
  },
  'a claim for one pod and for many': {
    change: volumeWith({ accessModes: ['ReadWriteOncePod', 'ReadWriteMany'] }),
    says: [`${AT}.spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes`],
  },
  'a claim without any size': {
    change: volumeWith({ resources: { requests: { storage: '0' } } }),
    says: [`${AT}.spec.resources[storage]: Invalid value: "0": must be greater than zero`],
  },
  'a claim with bad names of classes': {
    change: volumeWith({ storageClassName: 'Fast_1', volumeAttributesClassName: 'Gold_1' }),
    says: [
      `${AT}.spec.storageClassName: Invalid value: "Fast_1": ${NOT_A_SUBDOMAIN}`,
      `${AT}.spec.volumeAttributesClassName: Invalid value: "Gold_1": ${NOT_A_SUBDOMAIN}`,
    ],
  },
  'a claim with a bad source': {
    change: volumeWith({ dataSource: { kind: 'Pod', name: '' } }),
    says: [
      `${AT}.spec.dataSource.name: Required value`,
      `${AT}.spec.dataSource: Invalid value: "Pod": must be 'PersistentVolumeClaim' when referencing the default apiGroup`,
    ],
  },
  'a claim with a source in a namespace with a bad name': {
    change: volumeWith({ dataSourceRef: { apiGroup: 'A_b', kind: 'Snap', name: 's', namespace: 'N_s' } }),
    says: [
      `${AT}.spec.dataSourceRef.apiGroup: Invalid value: "A_b": ${NOT_A_SUBDOMAIN}`,
      `${AT}.spec.dataSourceRef.namespace: Invalid value: "N_s": ${NOT_A_LABEL}`,
    ],
  },
  'a claim with two sources': {
    change: volumeWith({
      dataSource: { kind: 'PersistentVolumeClaim', name: 'a' },
      dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'b' },
    }),
    says: [`${AT}.spec: Invalid value: ${AT}.spec.dataSource: must match dataSourceRef`],
  },
  'a claim with a name': {
    change: volumeWith({}, { name: 'mine', labels: { app: 'web' } }),
    says: [`${AT}.metadata.name: Forbidden: cannot be set`],
  },
};

testRejections(refused);
