/** Why a call could not be made or was given up; code is for programs, message for people. */
export class CallError extends Error {
  override readonly name: string = "CallError";
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Whoever answered could not prove to be the oracle that was called. */
export class CallIdentityError extends CallError {
  override readonly name = "CallIdentityError";

  constructor(why: string, options?: ErrorOptions) {
    super(
      "fingerprint_mismatch",
      `The call was refused: the other side could not prove to be the oracle (${why}).`,
      options,
    );
  }
}
