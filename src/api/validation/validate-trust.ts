/** Projected sources of a cluster's signers: trust bundles and certificates of the pod. */
import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from '../../base/name-syntax.ts';
import type {
  ClusterTrustBundleProjection,
  LabelSelector,
  LabelSelectorRequirement,
  PodCertificateProjection,
} from '../generated/core-v1.ts';
import { type FieldErrors, forbidden, invalid, invalidFor, oneOf, required, tooLong } from './field-error.ts';
import { validateLabels } from './validate-metadata.ts';
import { projectedPath } from './validate-paths.ts';

const KEY_TYPES = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];
const MIN_SECONDS = 3600;
const MAX_SECONDS = 91 * 24 * 3600;
/** For the signers of Kubernetes itself. */
const MAX_KUBERNETES_SECONDS = 24 * 3600;
const MAX_DOMAIN = 253;
/** The domain, a slash, and a namespace and a name with a dot. */
const MAX_SIGNER = MAX_DOMAIN + 1 + (63 + 1 + 253);
const ANNOTATIONS_MAX_BYTES = 256 * 1024;

/** Checks that no other source writes the file. */
export type TakePath = (file: string) => FieldErrors;

export function* validateTrustBundle(
  path: string,
  bundle: ClusterTrustBundleProjection,
  takePath: TakePath,
): FieldErrors {
  const { name, signerName, labelSelector } = bundle;
  if (name !== undefined && signerName !== undefined) {
    yield invalid(path, bundle, 'only one of name and signerName may be used');
  } else if (name !== undefined) {
    if (name === '') yield required(`${path}.name`, 'must be a valid object name');
    for (const message of bundleNameErrors(name)) {
      yield invalid(`${path}.name`, name, `not a valid clustertrustbundlename: ${message}`);
    }
    if (labelSelector) {
      yield invalid(`${path}.labelSelector`, labelSelector, 'labelSelector must be unset if name is specified');
    }
  } else if (signerName !== undefined) {
    if (signerName === '') yield required(`${path}.signerName`, 'must be a valid signer name');
    yield* validateSignerName(`${path}.signerName`, signerName);
    yield* validateLabelSelector(`${path}.labelSelector`, labelSelector);
  } else {
    yield required(path, 'either name or signerName must be specified');
  }
  if (bundle.path === '') yield required(`${path}.path`);
  yield* projectedPath(`${path}.path`, bundle.path);
  yield* takePath(bundle.path);
}

/** The name of a bundle of a signer starts with the signer: `example.com:pods:prod`. */
function bundleNameErrors(name: string): readonly string[] {
  return dnsSubdomainErrors(name.slice(name.lastIndexOf(':') + 1));
}

export function* validatePodCertificate(
  path: string,
  certificate: PodCertificateProjection,
  takePath: TakePath,
): FieldErrors {
  const { signerName, userAnnotations, keyType, maxExpirationSeconds: seconds } = certificate;
  yield* validateSignerName(`${path}.signerName`, signerName);
  yield* validateUserAnnotations(`${path}.userAnnotations`, userAnnotations);
  yield* oneOf(`${path}.keyType`, keyType, KEY_TYPES);
  if (seconds !== undefined) yield* validateSeconds(`${path}.maxExpirationSeconds`, seconds, signerName);
  let count = 0;
  for (const field of ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const) {
    const file = certificate[field];
    if (!file) continue;
    count++;
    yield* projectedPath(`${path}.${field}`, file);
    yield* takePath(file);
  }
  if (count === 0) {
    yield required(path, 'specify at least one of credentialBundlePath, keyPath, and certificateChainPath');
  }
}

function* validateSeconds(path: string, seconds: number, signerName: string): FieldErrors {
  if (seconds < MIN_SECONDS) {
    yield invalid(path, seconds, `if provided, maxExpirationSeconds must be >= ${MIN_SECONDS}`);
  }
  const max = /^([^/]*\.)?kubernetes\.io(\/|$)/.test(signerName) ? MAX_KUBERNETES_SECONDS : MAX_SECONDS;
  if (seconds > max) yield invalid(path, seconds, `if provided, maxExpirationSeconds must be <= ${max}`);
}

function* validateUserAnnotations(path: string, annotations: Readonly<Record<string, string>> = {}): FieldErrors {
  let bytes = 0;
  for (const [given, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(given) + Buffer.byteLength(value);
    const key = given.toLowerCase();
    if (key === '') {
      yield required(path);
      continue;
    }
    const errors = qualifiedNameErrors(key);
    yield* invalidFor(path, key, errors);
    if (errors.length === 0 && key.split('/').length !== 2) {
      yield invalid(path, key, 'must be a domain-prefixed key (such as "acme.io/foo")');
    }
  }
  if (bytes > ANNOTATIONS_MAX_BYTES) yield tooLong(path, ANNOTATIONS_MAX_BYTES);
}

/** `example.com/signer-name` */
function* validateSignerName(path: string, signerName: string): FieldErrors {
  if (signerName === '') {
    yield required(path);
    return;
  }
  const [domain = '', name, ...more] = signerName.split('/');
  if (name === undefined || more.length > 0) {
    const detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    yield invalid(path, signerName, detail);
    return;
  }
  if (domain.length > MAX_DOMAIN) yield tooLong(path, MAX_DOMAIN);
  yield* firstLabelErrors(path, domain, dnsLabelErrors);
  if (!domain.includes('.')) {
    yield invalid(path, domain, 'should be a domain with at least two segments separated by dots');
  }
  yield* firstLabelErrors(path, name, dnsSubdomainErrors);
  if (signerName.length > MAX_SIGNER) yield tooLong(path, MAX_SIGNER);
}

/** The errors of the first label that has any. */
function* firstLabelErrors(path: string, text: string, check: (label: string) => string[]): FieldErrors {
  for (const label of text.split('.')) {
    const errors = check(label);
    for (const error of errors) yield invalid(path, text, `validating label ${JSON.stringify(label)}: ${error}`);
    if (errors.length > 0) return;
  }
}

function* validateLabelSelector(path: string, selector: LabelSelector = {}): FieldErrors {
  yield* validateLabels(`${path}.matchLabels`, selector.matchLabels);
  for (const [index, requirement] of (selector.matchExpressions ?? []).entries()) {
    yield* validateRequirement(`${path}.matchExpressions[${index}]`, requirement);
  }
}

function* validateRequirement(path: string, { key, operator, values = [] }: LabelSelectorRequirement): FieldErrors {
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) yield required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    if (values.length > 0) yield forbidden(`${path}.values`, detail);
  } else {
    yield invalid(`${path}.operator`, operator, 'not a valid selector operator');
  }
  yield* invalidFor(`${path}.key`, key, qualifiedNameErrors(key));
  for (const [index, value] of values.entries()) {
    yield* invalidFor(`${path}.values[${index}]`, value, labelValueErrors(value));
  }
}
