"""Colors of code: names keep the text color, so keywords, strings and comments stand out. Contrasts meet WCAG AA."""

from typing import ClassVar

from pygments.style import Style
from pygments.token import Comment, Error, Generic, Keyword, Name, Number, Operator, String, Token


class Light(Style):
    """Colors on a light background."""

    background_color = "#f6f7f8"
    highlight_color = "#fff3c4"
    styles: ClassVar = {
        Token: "#1d1f23",
        Comment: "italic #5d636c",
        Keyword: "#00557f",
        Keyword.Constant: "#8a3d00",
        Operator.Word: "#00557f",
        Name.Decorator: "#6b4f9b",
        Name.Function: "bold #1d1f23",
        Name.Class: "bold #1d1f23",
        String: "#00694e",
        String.Doc: "#4b5058",
        String.Interpol: "#1d1f23",
        Number: "#8a3d00",
        Generic.Prompt: "#5d636c",
        Error: "",
    }


class Dark(Style):
    """Colors on a dark background."""

    background_color = "#1b1c1e"
    highlight_color = "#4a4320"
    styles: ClassVar = {
        Token: "#e4e5e7",
        Comment: "italic #9aa0a9",
        Keyword: "#7cc4ec",
        Keyword.Constant: "#ffae6b",
        Operator.Word: "#7cc4ec",
        Name.Decorator: "#c0abee",
        Name.Function: "bold #e4e5e7",
        Name.Class: "bold #e4e5e7",
        String: "#63d3b0",
        String.Doc: "#b9bdc4",
        String.Interpol: "#e4e5e7",
        Number: "#ffae6b",
        Generic.Prompt: "#9aa0a9",
        Error: "",
    }
