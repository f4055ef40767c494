import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeManifest } from '../decode/decode-manifest.ts';
import { formatManifestError } from '../decode/manifest-error.ts';
import { defaultPod } from '../defaults/default-pod.ts';
import { locateFieldErrors } from './locate-field-errors.ts';
import { validatePod } from './validate-pod.ts';

const MANIFEST = `apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: default
spec:
  restartPolicy: Sometimes
  containers:
    - name: web
      image: busybox
    - name: web
`;

test('locateFieldErrors() adds the location in the manifest to each error', () => {
  const { pods } = decodeManifest(MANIFEST, { file: 'web.yaml' });
  const errors = pods.flatMap((decoded) => locateFieldErrors(validatePod(defaultPod(decoded.object)), decoded));
  assert.deepEqual(errors.map(formatManifestError), [
    'web.yaml:11:7: spec.containers[1].image: Required value',
    'web.yaml:11:13: spec.containers[1].name: Duplicate value: "web"',
    'web.yaml:7:18: spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
  ]);
});
