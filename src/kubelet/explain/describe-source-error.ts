import type { ErrorCause, SourceCause, SourceUnavailable } from '../pod/pod-cause.ts';
import type { ErrorDescription } from './describe-error.ts';

const KINDS: ReadonlySet<string> = new Set<SourceCause['kind']>([
  'trustBundleNotFound',
  'trustBundlesNotFound',
  'trustBundlesNotSynced',
  'trustBundlesUnavailable',
  'podCertificateNotIssued',
  'podCertificateRefused',
  'podCertificatesUnavailable',
]);

export function isSourceCause(cause: ErrorCause | undefined): cause is SourceCause {
  return cause !== undefined && KINDS.has(cause.kind);
}

/** Describes why trust anchors or a certificate are missing; the text completes `volume "v" …`. */
export function describeSourceError(cause: SourceCause): ErrorDescription {
  switch (cause.kind) {
    case 'trustBundleNotFound':
      return { text: `needs ClusterTrustBundle "${cause.name}", which does not exist` };
    case 'trustBundlesNotFound':
      return { text: `needs a ClusterTrustBundle of signer "${cause.signer}", and none has the labels it selects` };
    case 'trustBundlesNotSynced':
      return { text: 'needs a ClusterTrustBundle, and the API server has not answered yet' };
    case 'trustBundlesUnavailable':
      return { text: 'needs a ClusterTrustBundle', ...unavailable(cause.why, 'ClusterTrustBundleProjection') };
    case 'podCertificatesUnavailable':
      return { text: 'needs a certificate of a signer', ...unavailable(cause.why, 'PodCertificateRequest') };
    case 'podCertificateNotIssued':
      return notIssued(cause);
    case 'podCertificateRefused': {
      const { signer, outcome, reason, message } = cause;
      const what = outcome === 'denied' ? 'has denied it' : 'could not issue it';
      const text = `needs a certificate of signer "${signer}", which ${what} (${reason}): ${message}`;
      return { text, help: 'It is not requested again for this pod; a new pod requests a new one.' };
    }
  }
}

function notIssued({
  signer,
  request,
  error,
}: Extract<SourceCause, { kind: 'podCertificateNotIssued' }>): ErrorDescription {
  const text = `needs a certificate of signer "${signer}"`;
  if (request !== undefined) {
    const help = `The signer has to answer PodCertificateRequest ${request}.`;
    return { text: `${text}, which has not issued it yet`, help };
  }
  return error === undefined
    ? { text: `${text}, which is being requested` }
    : { text: `${text}, which cannot be requested: ${error}` };
}

function unavailable(why: SourceUnavailable, gate: string): Pick<ErrorDescription, 'help'> {
  switch (why) {
    case 'standalone':
      return { help: 'This node has no API server, which provides it.' };
    case 'gateOff':
      return { help: `The feature gate ${gate} of this node is off.` };
    case 'notServed':
      return { help: 'The API server does not serve ClusterTrustBundles of certificates.k8s.io/v1beta1.' };
  }
}
