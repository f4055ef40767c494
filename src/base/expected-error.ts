/** An error whose message is enough for the user: the command line prints it without a stack trace. */
export class ExpectedError extends Error {}
