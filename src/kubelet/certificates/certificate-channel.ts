import { typedChannel } from '../../base/typed-channel.ts';

/** What the rotation of a certificate of the node did. */
export type CertificateMessage = { readonly signerName: string } & (
  | { readonly kind: 'renewFailed' }
  /** The certificate in use; `replacedAgeMs`: how long the one before it was valid by then. */
  | { readonly kind: 'inUse'; readonly validUntilMs: number; readonly replacedAgeMs: number | undefined }
);

export const certificateChannel = typedChannel<CertificateMessage>('nodelet.certificate');
