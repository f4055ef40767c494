import type {
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
  TokenReviewSpec,
  TokenReviewStatus,
} from '../../api/generated/core-v1.ts';

/** Authentication and authorization of the clients of the node's server. Calls reject as those of `ApiServer` do. */
export interface ApiReviews {
  /** The user of a token, if it is valid. */
  reviewToken(spec: TokenReviewSpec, signal: AbortSignal): Promise<TokenReviewStatus>;
  /** Whether a user may perform a request. */
  reviewAccess(spec: SubjectAccessReviewSpec, signal: AbortSignal): Promise<SubjectAccessReviewStatus>;
}
