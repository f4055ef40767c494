/** Why there is no private runtime on this machine. The message is for the user, without a trace. */
export class StartError extends Error {
  override readonly name = 'RuntimeStartError';
}
