import type {
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
  TokenReviewSpec,
  TokenReviewStatus,
} from '../../api/generated/core-v1.ts';

/** What the API server says of others, who ask a node for something. Every call rejects as those of `ApiServer` do. */
export interface ApiReviews {
  /** Whose token it is, if anybody's. */
  reviewToken(spec: TokenReviewSpec, signal: AbortSignal): Promise<TokenReviewStatus>;
  /** Whether somebody may do something. */
  reviewAccess(spec: SubjectAccessReviewSpec, signal: AbortSignal): Promise<SubjectAccessReviewStatus>;
}
