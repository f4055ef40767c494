import type { ClusterTrustBundle, ClusterTrustBundleProjection } from '../../api/generated/core-v1.ts';
import { LabelSelectorError, parseLabelSelector } from '../../api/label-selector.ts';
import { TrustBundleError } from './trust-bundles.ts';

const MAX_SELECTOR_BYTES = 100 * 1024;

/** The ClusterTrustBundles that a projected source selects: one by its name, or those of a signer. */
export interface BundleSelection {
  /** Equal for equal selections. */
  readonly key: string;
  selects(bundle: ClusterTrustBundle): boolean;
  /** kubelet's error for a selection without bundles. */
  notFound(): TrustBundleError;
}

/** Throws a `TrustBundleError`. */
export function bundleSelection({ name, signerName, labelSelector }: ClusterTrustBundleProjection): BundleSelection {
  if (name !== undefined) return namedBundle(name);
  if (signerName !== undefined) return bundlesOfSigner(signerName, labelSelector);
  throw new TrustBundleError('ClusterTrustBundle projection requires either name or signerName to be set', undefined);
}

function namedBundle(name: string): BundleSelection {
  const object = `clustertrustbundle.certificates.k8s.io ${JSON.stringify(name)}`;
  return {
    key: JSON.stringify([name]),
    selects: ({ metadata }) => metadata.name === name,
    notFound: () =>
      new TrustBundleError(`while getting ClusterTrustBundle: ${object} not found`, {
        kind: 'trustBundleNotFound',
        name,
      }),
  };
}

function bundlesOfSigner(signer: string, labels: ClusterTrustBundleProjection['labelSelector']): BundleSelection {
  const selector = parsedSelector(labels);
  const length = Buffer.byteLength(selector.text);
  if (length > MAX_SELECTOR_BYTES) {
    const message = `label selector length (${length}) is larger than ${MAX_SELECTOR_BYTES}`;
    throw new TrustBundleError(message, undefined);
  }
  const notFound = 'combination of signerName and labelSelector matched zero ClusterTrustBundles';
  return {
    key: JSON.stringify([signer, labels === undefined ? null : selector.text]),
    selects: ({ metadata, spec }) => spec.signerName === signer && selector.matches(metadata.labels ?? {}),
    notFound: () => new TrustBundleError(notFound, { kind: 'trustBundlesNotFound', signer }),
  };
}

function parsedSelector(labels: ClusterTrustBundleProjection['labelSelector']): ReturnType<typeof parseLabelSelector> {
  try {
    return parseLabelSelector(labels);
  } catch (error) {
    if (!(error instanceof LabelSelectorError)) throw error;
    throw new TrustBundleError(`while parsing label selector: ${error.message}`, undefined, { cause: error });
  }
}
