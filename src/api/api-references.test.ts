import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiReference } from './api-references.ts';
import type { PodSpec, Volume } from './generated/core-v1.ts';

const container = { name: 'web', image: 'busybox' };
const volume = (source: Omit<Volume, 'name'>): Partial<PodSpec> => ({ volumes: [{ name: 'v', ...source }] });
const projection = (source: object): Partial<PodSpec> => volume({ projected: { sources: [source] } });

const cases: Record<string, { given: Partial<PodSpec>; reference: string | undefined }> = {
  'a pod that stands by itself': { given: volume({ hostPath: { path: '/x' } }), reference: undefined },
  'a service account': { given: { serviceAccountName: 'a' }, reference: 'serviceaccounts' },
  'a pull secret': { given: { imagePullSecrets: [{ name: 's' }] }, reference: 'secrets' },
  'a variable from a secret': {
    given: {
      containers: [{ ...container, env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }],
    },
    reference: 'secrets',
  },
  'a secret volume': { given: volume({ secret: { secretName: 's' } }), reference: 'secrets' },
  'an environment from a config map': {
    given: { initContainers: [{ ...container, envFrom: [{ configMapRef: { name: 'c' } }] }] },
    reference: 'configmaps',
  },
  'a projected config map': { given: projection({ configMap: { name: 'c' } }), reference: 'configmaps' },
  'a resource claim': { given: { resourceClaims: [{ name: 'gpu' }] }, reference: 'resourceclaims' },
  'a volume claim': {
    given: volume({ persistentVolumeClaim: { claimName: 'c' } }),
    reference: 'persistentvolumeclaims',
  },
  'a volume claim of its own': {
    given: volume({ ephemeral: {} }),
    reference: 'persistentvolumeclaims (via ephemeral volumes)',
  },
  'a driver': { given: volume({ csi: { driver: 'd' } }), reference: 'csidrivers (via CSI volumes)' },
  'a token': {
    given: projection({ serviceAccountToken: { path: 't' } }),
    reference: 'serviceaccounts (via projected volumes)',
  },
  'facts about itself': { given: projection({ downwardAPI: { items: [] } }), reference: undefined },
};

for (const [name, { given, reference }] of Object.entries(cases)) {
  test(`apiReference() of ${name}`, () => {
    const metadata = { name: 'web', namespace: 'default', uid: 'u' };
    assert.equal(apiReference({ metadata, spec: { containers: [container], ...given } }), reference);
  });
}
