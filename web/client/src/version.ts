/** Version of this library, as published. */
export const version = "0.1.0";
