import { typedChannel } from '../../base/typed-channel.ts';

/** A request to the API server. */
export interface ApiRequest {
  /** `GET` */
  readonly method: string;
  /** `10.0.0.1:6443` */
  readonly host: string;
}

/** What the client of the API server did. */
export type ApiCallMessage =
  /** The rate limit let a request pass. */
  | { readonly kind: 'throttled'; readonly of: ApiRequest; readonly tookMs: number }
  /** The server answered with this status; `undefined`: it did not answer. */
  | { readonly kind: 'answered'; readonly of: ApiRequest; readonly status: number | undefined }
  /** A whole response was read, or the request failed. */
  | {
      readonly kind: 'ended';
      readonly of: ApiRequest;
      readonly tookMs: number;
      readonly requestBytes: number;
      /** `undefined`: the request failed before a response was read. */
      readonly responseBytes: number | undefined;
    }
  /** The request is sent again after this status. */
  | { readonly kind: 'retried'; readonly of: ApiRequest; readonly status: number };

export const apiCallChannel = typedChannel<ApiCallMessage>('nodelet.api.call');
