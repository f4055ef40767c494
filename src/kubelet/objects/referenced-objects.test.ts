import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod, PodSpec, Volume } from '../../api/generated/core-v1.ts';
import { referencedObjects } from './referenced-objects.ts';

const container: Container = { name: 'main', image: 'busybox' };

function namesIn(spec: Partial<PodSpec>): { configMaps: string[]; secrets: string[] } {
  const pod: Pod = { metadata: { name: 'a', namespace: 'b', uid: 'c' }, spec: { containers: [container], ...spec } };
  const { configMaps, secrets } = referencedObjects(pod);
  return { configMaps: [...configMaps], secrets: [...secrets] };
}

const volume = (source: Omit<Volume, 'name'>): Partial<PodSpec> => ({ volumes: [{ name: 'v', ...source }] });
const ref = { name: 's' };

const cases: Record<string, { spec: Partial<PodSpec>; configMaps?: string[]; secrets?: string[] }> = {
  'nothing for a plain pod': { spec: volume({ emptyDir: {} }) },
  'environments of all kinds of containers, optional or not, without duplicates': {
    spec: {
      containers: [
        {
          ...container,
          env: [
            { name: 'A', valueFrom: { configMapKeyRef: { name: 'c1', key: 'k', optional: true } } },
            { name: 'B', valueFrom: { secretKeyRef: { name: 's1', key: 'k' } } },
            { name: 'C', valueFrom: { configMapKeyRef: { name: 'c1', key: 'other' } } },
          ],
        },
      ],
      initContainers: [{ ...container, envFrom: [{ configMapRef: { name: 'c2' } }] }],
      ephemeralContainers: [{ ...container, envFrom: [{ secretRef: { name: 's2' } }] }],
    },
    configMaps: ['c2', 'c1'],
    secrets: ['s1', 's2'],
  },
  'pull secrets that have a name': {
    spec: { imagePullSecrets: [{ name: 'p' }, { name: '' }, {}] },
    secrets: ['p'],
  },
  'a ConfigMap as a volume': { spec: volume({ configMap: { name: 'c' } }), configMaps: ['c'] },
  'a Secret as a volume': { spec: volume({ secret: { secretName: 's' } }), secrets: ['s'] },
  'the sources of a projected volume': {
    spec: volume({ projected: { sources: [{ configMap: { name: 'c' } }, { secret: ref }, { downwardAPI: {} }] } }),
    configMaps: ['c'],
    secrets: ['s'],
  },
  'the login of Azure files': { spec: volume({ azureFile: { secretName: 's', shareName: 'x' } }), secrets: ['s'] },
  'the login of a CSI volume': { spec: volume({ csi: { driver: 'd', nodePublishSecretRef: ref } }), secrets: ['s'] },
  'the login of CephFS': { spec: volume({ cephfs: { monitors: [], secretRef: ref } }), secrets: ['s'] },
  'the login of Cinder': { spec: volume({ cinder: { volumeID: 'x', secretRef: ref } }), secrets: ['s'] },
  'the login of a flex volume': { spec: volume({ flexVolume: { driver: 'd', secretRef: ref } }), secrets: ['s'] },
  'the login of iSCSI': {
    spec: volume({ iscsi: { iqn: 'i', lun: 0, targetPortal: 't', secretRef: ref } }),
    secrets: ['s'],
  },
  'the login of RBD': { spec: volume({ rbd: { image: 'i', monitors: [], secretRef: ref } }), secrets: ['s'] },
  'the login of ScaleIO': { spec: volume({ scaleIO: { gateway: 'g', system: 's', secretRef: ref } }), secrets: ['s'] },
  'the login of StorageOS': { spec: volume({ storageos: { secretRef: ref } }), secrets: ['s'] },
};

for (const [what, { spec, configMaps = [], secrets = [] }] of Object.entries(cases)) {
  test(`referencedObjects() finds ${what}`, () => {
    assert.deepEqual(namesIn(spec), { configMaps, secrets });
  });
}
