import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeManifest } from '../decode/decode-manifest.ts';
import { defaultPod } from '../defaults/default-pod.ts';
import { formatFieldError } from '../validation/field-error.ts';
import { validatePod } from '../validation/validate-pod.ts';

/** What a test changes in a pod with nothing wrong with it. */
export interface PodChange {
  readonly metadata?: object;
  readonly spec?: object;
  /** Its only container. */
  readonly container?: object;
  /** An init container beside it. */
  readonly init?: object;
  /** A volume named `v`. */
  readonly volume?: object;
}

/** What the API server would say to a pod named `web` in `default` after one change. */
export function validationErrorsOf({ metadata, spec, container, init, volume }: PodChange): string[] {
  const healthy = { name: 'web', image: 'busybox:1' };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', ...metadata },
    spec: {
      containers: [{ ...healthy, ...container }],
      ...(init && { initContainers: [{ ...healthy, name: 'init', ...init }] }),
      ...(volume && { volumes: [{ name: 'v', ...volume }] }),
      ...spec,
    },
  };
  const { pods, errors } = decodeManifest(JSON.stringify(pod), { file: 'pod.json' });
  if (errors.length > 0) throw new Error(`the test's pod cannot be decoded: ${errors[0]?.message}`);
  return pods.flatMap(({ object }) => validatePod(defaultPod(object))).map(formatFieldError);
}

/** The rules that several fields share, in the words of the API server. */
export const NOT_A_SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
export const NOT_A_LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
export const NOT_A_NAME_PART =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/** By what is wrong: the change that causes it, and all errors. */
export type Rejections = Readonly<Record<string, { readonly change: PodChange; readonly says: readonly string[] }>>;

/** One test for each rejection, named `validatePod() refuses …`. */
export function testRejections(refused: Rejections, subject = ''): void {
  for (const [name, { change, says }] of Object.entries(refused)) {
    test(`validatePod() refuses ${subject}${name}`, () => {
      assert.deepEqual(validationErrorsOf(change), says);
    });
  }
}
